"""Small files of a layout, and what was read of them."""


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def of(traces, role, execution=None):
    values = traces.values(role)
    return values.tolist() if execution is None else values[traces.slice_of(execution)].tolist()
