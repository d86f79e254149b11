"""How much of core and app the tests cover: ``python -m tests.covered FILE…``; fails where it is too little.

The files are SlipCover's, of runs that add up. Lines and branches count alike.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

LEAST_PERCENT = {"core": 92.0, "app": 85.0}


def covered(runs: list[Path]) -> dict[str, float]:
    """Percent of each folder's lines and branches that were executed in any run."""
    executed, all_there = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for run in runs:
        for file, found in json.loads(run.read_text(encoding="utf-8"))["files"].items():
            folder = file.partition("/")[0]
            for what in ("lines", "branches"):
                done, missed = (
                    {f"{file} {each}" for each in found[f"{how}_{what}"]} for how in ("executed", "missing")
                )
                executed[folder] |= done
                all_there[folder] |= done | missed
    return {folder: 100 * len(executed[folder]) / max(1, len(all_there[folder])) for folder in LEAST_PERCENT}


def main(*runs: str) -> int:
    percent = covered([Path(run) for run in runs])
    for folder, least in LEAST_PERCENT.items():
        print(f"{folder}: {percent[folder]:.1f}% of lines and branches are covered; {least:.0f}% must be")
    return int(any(percent[folder] < least for folder, least in LEAST_PERCENT.items()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
