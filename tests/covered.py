"""How much of core and app the tests cover: ``python -m tests.covered FILE``; fails where it is too little.

The file is SlipCover's. Lines and branches count alike; a file that no test imports is a failure.
"""

from __future__ import annotations

import json
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST_PERCENT = {"core": 92.0, "app": 85.0}


def covered(files: dict[str, dict[str, list[object]]], folder: str) -> float:
    """Percent of a folder's lines and branches that were executed."""
    mine = [found for name, found in files.items() if name.startswith(f"{folder}/")]
    executed, missing = (
        sum(len(found[f"{what}_lines"]) + len(found[f"{what}_branches"]) for found in mine)
        for what in ("executed", "missing")
    )
    return 100 * executed / max(1, executed + missing)


def unseen(files: dict[str, dict[str, list[object]]]) -> list[str]:
    """Files that would have to be measured, and that no test imports."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["slipcover"]
    there = (path.relative_to(ROOT) for folder in LEAST_PERCENT for path in (ROOT / folder).rglob("*.py"))
    left_out = [str(name) for name in settings["omit"]]
    return sorted(
        str(path)
        for path in there
        if str(path) not in files and not any(fnmatch(str(path), name) for name in left_out)
    )


def main(measured: str) -> int:
    files = json.loads(Path(measured).read_text(encoding="utf-8"))["files"]
    percent = {folder: covered(files, folder) for folder in LEAST_PERCENT}
    for folder, least in LEAST_PERCENT.items():
        print(f"{folder}: {percent[folder]:.1f}% of lines and branches are covered; {least:.0f}% must be")
    nowhere = unseen(files)
    for name in nowhere:
        print(f"{name}: no test imports it")
    return int(bool(nowhere) or any(percent[folder] < least for folder, least in LEAST_PERCENT.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
