"""How much of core and app the tests cover: ``python -m tests.covered FILE``; fails where it is too little.

The file is SlipCover's. Lines and branches count alike.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

LEAST_PERCENT = {"core": 92.0, "app": 85.0}


def covered(files: dict[str, dict[str, list[object]]], folder: str) -> float:
    """Percent of a folder's lines and branches that were executed."""
    mine = [found for name, found in files.items() if name.startswith(f"{folder}/")]
    executed, missing = (
        sum(len(found[f"{what}_lines"]) + len(found[f"{what}_branches"]) for found in mine)
        for what in ("executed", "missing")
    )
    return 100 * executed / max(1, executed + missing)


def main(measured: str) -> int:
    files = json.loads(Path(measured).read_text(encoding="utf-8"))["files"]
    percent = {folder: covered(files, folder) for folder in LEAST_PERCENT}
    for folder, least in LEAST_PERCENT.items():
        print(f"{folder}: {percent[folder]:.1f}% of lines and branches are covered; {least:.0f}% must be")
    return int(any(percent[folder] < least for folder, least in LEAST_PERCENT.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
