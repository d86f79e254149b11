"""Samples of several series that are read as one, and one that is read as several, by the order of samples.

Two containers that take turns in one execution leave steps of two lengths, or memory that jumps up and down
at every sample; an execution whose phases have names is cut into executions that wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.traces.model import FloatArray, TraceSet

MOST_SERIES = 4
"""So many series that take turns are recognised."""
MOST_LOOKED_AT = 50
"""Executions whose samples are looked at, from first to last: what is mixed is mixed in many."""
LEAST_SAMPLES = 24
THROUGHOUT = 0.9
"""The share of samples at which a pattern has to be seen."""
UNITS = (60.0, 1.0, 0.1, 0.01, 0.001)
"""Times are often rounded to one of these, which makes steps of two lengths that differ by it."""
LEAST_RUN = 3.0
"""Samples that an execution has at least, on average, before another one goes on."""
MOST_PHASES = 50


def mixtures(recorded: TraceSet) -> Iterator[str]:
    """Questions for executions that look like several, or like the phases of one."""
    lengths = np.diff(recorded.offsets)
    long = np.flatnonzero(lengths >= LEAST_SAMPLES)
    looked_at = long[:: max(1, -(-len(long) // MOST_LOOKED_AT))].tolist()
    parts = [(recorded.ids[i], slice(recorded.offsets[i], recorded.offsets[i + 1])) for i in looked_at]
    uneven = next((name for name, part in parts if _alternate(np.diff(recorded.time[part]))), None)
    if uneven is not None:
        yield f"Steps between samples of “{uneven}” are short and long in turns: is it several executions?"
    for role in (Role.MEMORY, Role.GPU_MEMORY):
        values = recorded.values(role)
        found = (name for name, part in parts if values is not None and _jump(values[part]))
        mixed = next(found, None)
        if mixed is not None:
            yield f"Memory of “{mixed}” goes up and down at every sample: is it several executions in turns?"
            break
    yield from _phases(recorded)


def _alternate(steps: FloatArray) -> bool:
    """Whether steps of different lengths come in the same turns throughout."""
    usual = float(steps.mean())
    if np.ptp(steps) <= 0.25 * usual:
        return False  # as nearly always
    unit = next((one for one in UNITS if np.allclose(steps / one, np.round(steps / one), atol=1e-3)), 0.0)
    if np.quantile(steps, 0.95) - np.quantile(steps, 0.05) <= max(1.01 * unit, 0.25 * usual):
        return False
    for k in range(2, MOST_SERIES + 1):
        again = np.abs(steps[k:] - steps[:-k]) <= 0.1 * usual
        changes = np.abs(np.diff(steps)) > 0.25 * usual
        if again.mean() > THROUGHOUT and changes.mean() > THROUGHOUT * 2 / k:
            return True
    return False


def _jump(values: FloatArray) -> bool:
    """Whether each value is like that of one turn before, and unlike the one just before."""
    if not np.isfinite(values).all():
        return False
    near = np.abs(np.diff(values))
    if np.median(near) <= 0.1 * np.abs(values).mean():
        return False
    for k in range(2, MOST_SERIES + 1):
        far = np.abs(values[k:] - values[:-k])
        if (far < near[: len(far)]).mean() > THROUGHOUT and np.median(far) < 0.2 * np.median(near):
            return True
    return False


def _phases(recorded: TraceSet) -> Iterator[str]:
    """That executions wait for each other on one clock, and go on."""
    if not 1 < recorded.n_executions <= MOST_PHASES:
        return
    owner = np.repeat(np.arange(recorded.n_executions), np.diff(recorded.offsets))
    order = np.argsort(recorded.time, kind="stable")
    steps, owner = np.diff(recorded.time[order]), owner[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    runs = np.bincount(owner[begins], minlength=recorded.n_executions)
    together = not len(steps) or bool((steps <= 0).any())
    if together or len(owner) < LEAST_RUN * len(begins) or int((runs > 1).sum()) < 2:
        return
    if (steps[begins[1:] - 1] <= 2 * np.median(steps)).mean() > THROUGHOUT:
        first, second = (recorded.ids[int(owner[place])] for place in begins[:2])
        yield f"“{first}” stops while “{second}” runs, and goes on after it: are they phases of one?"
