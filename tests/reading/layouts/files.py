"""Small files of a layout, and what was read of them."""

import json
from dataclasses import replace

from core.reading import inspect_file, read_with_report


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read_rows(path, seconds=1.0):
    """Read a file without times, whose rows are some seconds apart."""
    return read_with_report(path, replace(inspect_file(path).mapping, period=seconds))


def of(traces, role, execution=None):
    values = traces.values(role)
    return values.tolist() if execution is None else values[traces.slice_of(execution)].tolist()


def series(labels, values):
    return {"metric": labels, "values": [[1.7e9 + 15 * i, str(value)] for i, value in enumerate(values)]}


def answer(*found):
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(found)}})
