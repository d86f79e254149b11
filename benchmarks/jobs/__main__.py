"""Measure the training programs in real containers, and print Markdown.

    DOCKER_HOST=unix:///var/run/docker.sock python -m benchmarks.jobs resizes saving

``resizes``: cores 2, 1, 0.5, 1, 2 with threads that stay, that are one, and that follow. ``saving``: what it
costs to save and resume each program. Needs the images of ``make jobs-image`` and an engine on this machine
with two processors or more. Nothing else should run on them.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path

import docker

from benchmarks.jobs import resizes, saving
from core.jobs.catalogue import CATALOGUE


def main() -> None:
    """Run the measurements named on the command line."""
    chosen = _parser().parse_args()
    print(f"{time.strftime('%d %B %Y')}, {platform.machine()}, {_processor()}, load {_load()}\n")
    client = docker.from_env(timeout=120)
    with tempfile.TemporaryDirectory() as folder:
        if "resizes" in chosen.parts:
            _resizes(client, Path(folder), chosen)
        if "saving" in chosen.parts:
            _saving(client, Path(folder), chosen)
    client.close()
    print(f"load {_load()}")


def _resizes(client: docker.DockerClient, folder: Path, chosen: argparse.Namespace) -> None:
    stages = []
    for stage in resizes.measure(client, folder, chosen.repeats, chosen.stage, chosen.libraries):
        stages.append(stage)
        print(stage, file=sys.stderr, flush=True)
    print(resizes.table(stages))
    for library, times in resizes.shrinking(stages).items():
        print(f"{library}: followed to 0.5 cores, a step takes {times:.2f} times as long as with one thread")


def _saving(client: docker.DockerClient, folder: Path, chosen: argparse.Namespace) -> None:
    measured = []
    for one in saving.measure(client, folder, chosen.programs):
        measured.append(one)
        print(one, file=sys.stderr, flush=True)
    print(saving.table(measured))
    print(saving.by_progress(measured))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["resizes", "saving"], choices=["resizes", "saving"])
    parser.add_argument("--repeats", type=int, default=3, help="of resizes (3)")
    parser.add_argument("--stage", type=float, default=4.0, help="seconds between two resizes (4)")
    parser.add_argument("--libraries", nargs="+", default=list(resizes.PROGRAMS), choices=resizes.PROGRAMS)
    parser.add_argument("--programs", nargs="+", default=list(CATALOGUE), choices=CATALOGUE)
    return parser


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else "unknown processor"


def _load() -> str:
    return Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]


if __name__ == "__main__":
    main()
