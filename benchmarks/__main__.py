"""Run the benchmarks, print them as one table, and write ``benchmarks/results.json``.

``python -m benchmarks crbm pages`` runs only those named.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks.chromium import CannotRun

ALL = (
    *("ingest", "crbm", "pages", "timeline", "sequences", "provisioning", "simulator", "deadlines"),
    "history",
)
RESULTS = Path(__file__).with_name("results.json")


def _line(row: dict[str, object]) -> str:
    met = {True: "met", False: "MISSED", None: ""}[row.get("met")]  # type: ignore[index]
    value, ratio = f"{row['value']:.4g} {row['unit']}", row.get("ratio")
    return (
        f"{row['name']!s:<62} {value:>16}  {f'{ratio:.3g}×' if ratio is not None else '':>9}  "
        f"{row.get('target', '')!s:<22} {met}"
    )


def main(names: tuple[str, ...]) -> int:
    """Run the named benchmarks and say how many missed their target (the exit status ignores it)."""
    rows: list[dict[str, object]] = []
    left_out: dict[str, str] = {}
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name in names:
        print(f"\n{name}")
        try:
            for row in importlib.import_module(f"benchmarks.{name}").run():
                rows.append({"group": name, **row})
                print(_line(row), flush=True)
        except CannotRun as reason:
            left_out[name] = str(reason)
            print(f"NOT RUN: {reason}")
    RESULTS.write_text(json.dumps({"rows": rows, "not_run": left_out}, indent=2))
    missed = sum(row.get("met") is False for row in rows)
    print(f"\n{missed} of {len(rows)} missed their mark; all in {RESULTS.name}")
    if left_out:
        print(f"NOT RUN: {', '.join(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or ALL))
