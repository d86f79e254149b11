"""The cost of a checkpoint and a restart in a new container, by program and progress.

The thesis' figures 3.2 and 3.3 (below 5 s, standard deviation 1.43) compare whole runs; here it is the time
between the last step before and the first one after, less the time of a step: the checkpoint, the end of the
container, the start of the next one, its libraries and data, and the load.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.jobs.container import Job
from core.jobs.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from docker import DockerClient

STEPS = 40
SIZE = 0.1
STAGES, VAE_STAGES = (0.3, 0.7), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the steps after which it is saved and resumed."""


@dataclass(frozen=True)
class Saving:
    """One interruption.

    Parameters
    ----------
    program, share
        Of what, and after which share of the steps it was asked for.
    seconds
        That it cost.
    checkpoint
        Seconds from the request until the checkpoint was acknowledged.
    """

    program: str
    share: float
    seconds: float
    checkpoint: float


def measure(client: DockerClient, folder: Path, programs: Sequence[str]) -> Iterator[Saving]:
    """Interrupt every program; those named ``vae`` nine times, the others twice.

    Parameters
    ----------
    client
        Of the engine that has the images.
    folder
        For agents' folders.
    programs
        Keys of the catalogue.

    Raises
    ------
    RuntimeError
        If a step is lost or repeated.
    """
    for name in programs:
        options = ["--steps", str(STEPS), "--every", "0", "--size", str(SIZE), "--threads", "1"]
        job = Job(client, f"phasedock-jobs:{CATALOGUE[name].image}", [name, *options], folder / name)
        try:
            yield from _interruptions(job, name)
        finally:
            job.remove()
        if [step.number for step in job.steps()] != list(range(1, STEPS + 1)):
            raise RuntimeError(f"{name} lost or repeated a step.")


def _interruptions(job: Job, name: str) -> Iterator[Saving]:
    job.start()
    interruptions = []
    for share in VAE_STAGES if "vae" in name else STAGES:
        job.wait_for_step(round(share * STEPS))
        start = time.monotonic()
        step_saved = job.save()
        interruptions.append((share, step_saved, time.monotonic() - start))
        job.move()
        job.wait_for_step(step_saved + 1)
    job.wait_for_step(STEPS)
    at = [step.at for step in job.steps()]
    usual = statistics.median(after - before for before, after in pairwise(at))
    for share, step_saved, took in interruptions:
        yield Saving(name, share, at[step_saved] - at[step_saved - 1] - usual, took)


def table(measured: Sequence[Saving]) -> str:
    """Return what each program's interruptions cost as a Markdown table, with mean and standard deviation."""
    lines = ["| program | at 30% | at 70% | of these, the checkpoint |", "|---|---|---|---|"]
    for name in dict.fromkeys(one.program for one in measured):
        by_share = {one.share: one for one in measured if one.program == name}
        costs = " | ".join(f"{by_share[share].seconds:.2f} s" for share in STAGES)
        lines.append(f"| `{name}` | {costs} | {max(by_share[share].checkpoint for share in STAGES):.2f} s |")
    return "\n".join(lines)


def by_progress(measured: Sequence[Saving]) -> str:
    """Return what saving costs the VAEs at each tenth, with mean and standard deviation, line by line."""
    lines = []
    for name in dict.fromkeys(one.program for one in measured if "vae" in one.program):
        costs = [one.seconds for one in measured if one.program == name]
        each = ", ".join(f"{cost:.2f}" for cost in costs)
        lines.append(
            f"`{name}`: {each} s; mean {statistics.mean(costs):.2f}, sd {statistics.stdev(costs):.2f} s"
        )
    return "\n".join(lines)
