"""Threads and cores that do not suit each other: a program's steps while its cores go 2, 1, 0.5, 1, 2.

One program of each library, in three arms. *static*: as many threads as there are processors, whatever the
quota (oversubscription once it shrinks). *one*: one thread throughout (underutilisation while there are two
cores). *following*: the agent is asked for as many threads as cores, rounded up. Arms are interleaved, and
every repeat begins with new containers.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from benchmarks.jobs.container import Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from docker import DockerClient

CORES = (2.0, 1.0, 0.5, 1.0, 2.0)
PROGRAMS = {
    "NumPy": ("light", "mlp", 0.2),
    "PyTorch": ("torch", "vae", 0.1),
    "TensorFlow": ("tensorflow", "tf-vae", 0.1),
}
"""The image, the program and its size, by library: steps of some hundredths of a second."""
ARMS = {"static": "static", "one": "1", "following": "follow"}
"""What ``--threads`` says, by arm."""
SETTLE = 0.5
"""Seconds after a change that are not counted."""


@dataclass(frozen=True)
class Stage:
    """The measurements between two resizes.

    Parameters
    ----------
    library, arm, place
        Of what; `place` counts the stages from 0.
    seconds
        Wall seconds per step; NaN where fewer than two steps ended.
    cores
        Processor seconds used per second.
    threads
        That the program said it used.
    """

    library: str
    arm: str
    place: int
    seconds: float
    cores: float
    threads: int | None


def measure(
    client: DockerClient, folder: Path, repeats: int, stage: float, libraries: Sequence[str]
) -> Iterator[Stage]:
    """Run every arm of every library in turn, `repeats` times, and return its stages.

    Parameters
    ----------
    client
        Of the engine that has the images.
    folder
        For agents' folders.
    repeats
        How often.
    stage
        Seconds between two changes.
    libraries
        Keys of `PROGRAMS`.
    """
    for repeat, library, arm in product(range(repeats), libraries, ARMS):
        image, program, size = PROGRAMS[library]
        options = ["--steps", "1000000", "--every", "0", "--size", str(size), "--threads", ARMS[arm]]
        job = Job(
            client, f"phasedock-jobs:{image}", [program, *options], folder / f"{library}-{arm}-{repeat}"
        )
        job.start(CORES[0])
        try:
            job.wait_for_step(5)
            yield from _stages(job, library, arm, stage)
        finally:
            job.remove()


def _stages(job: Job, library: str, arm: str, stage: float) -> Iterator[Stage]:
    before = CORES[0]
    for place, cores in enumerate(CORES):
        job.resize(cores, follow=arm == "following", before=before)
        before = cores
        time.sleep(SETTLE)
        began, used = time.time(), job.cpu_seconds()
        time.sleep(stage)
        ended, took = time.time(), job.cpu_seconds() - used
        times = [step.at for step in job.steps() if began <= step.at <= ended]
        seconds = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else float("nan")
        yield Stage(library, arm, place, seconds, took / (ended - began), job.agent.read_report().threads)


def table(stages: Sequence[Stage]) -> str:
    """Return the medians over repeats as a Markdown table: milliseconds per step, and processors used."""
    heads = [f"{cores:g}" for cores in CORES]
    lines = ["| library | threads | " + " | ".join(f"{one} cores" for one in heads) + " |"]
    lines.append("|" + "---|" * (2 + len(heads)))
    for library, arm in product(dict.fromkeys(one.library for one in stages), ARMS):
        cells = []
        for place in range(len(CORES)):
            repeats = [s for s in stages if (s.library, s.arm, s.place) == (library, arm, place)]
            step = 1000 * statistics.median(one.seconds for one in repeats)
            cells.append(f"{step:.1f} ms, {statistics.median(one.cores for one in repeats):.2f}")
        lines.append(f"| {library} | {arm} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shrinking(stages: Sequence[Stage]) -> dict[str, float]:
    """Return, by library, how many times as long as with one thread a step takes that followed to 0.5 cores.

    Of the stage of 0.5 cores, medians over repeats.
    """
    place, ratios = CORES.index(0.5), {}
    for library in dict.fromkeys(one.library for one in stages):
        arms = {
            arm: statistics.median(
                s.seconds for s in stages if (s.library, s.arm, s.place) == (library, arm, place)
            )
            for arm in ("following", "one")
        }
        ratios[library] = arms["following"] / arms["one"]
    return ratios
