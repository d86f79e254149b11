"""Usage whose numbers change their meaning within a file: another unit from some row on, or a value for none.

Rows behind the first ones are read in the unit that the first ones show. Where the usual value jumps by 100,
1000 or 1024 times and stays there, the unit may have changed. A value far above all others that comes again
and again to the last digit, such as 99999, may stand for a missing one; so may memory of 0 between samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.traces.model import FloatArray, TraceSet


MAX_EXECUTIONS_FOR_LEVELS = 200
"""Executions whose samples are looked at, from first to last."""
MIN_SAMPLES_FOR_LEVELS = 20
BESIDE = 10
"""Samples on either side of a jump whose medians are compared."""
FACTORS = {Role.CPU: (100.0, 1000.0), Role.MEMORY: (1000.0, 1024.0, 1e6, 1024.0**2)}
NEAR = {Role.CPU: 0.1, Role.MEMORY: 0.03}
"""How near a jump is to a factor, as a share of it: memory changes little from sample to sample."""
FAR = 10.0
"""A value that stands for none is this many times as large as the largest other one."""
RARE = 0.2
"""Of more samples it is no exception."""


def changed(recorded: TraceSet) -> Iterator[tuple[str, str]]:
    """The columns of CPU and memory whose numbers may change their meaning, each with a question."""
    step = max(recorded.n_executions // MAX_EXECUTIONS_FOR_LEVELS, 1)
    for feature, values in zip(recorded.features, recorded.columns, strict=True):
        if feature.role not in FACTORS:
            continue
        parts = (
            (recorded.ids[i], values[recorded.offsets[i] : recorded.offsets[i + 1]])
            for i in range(0, recorded.n_executions, step)
        )
        found = (said for name, part in parts if (said := _odd(feature.name, feature.role, name, part)))
        said = next(found, None)
        if said is not None:
            yield feature.name, said


def _odd(column: str, role: Role, name: str, values: FloatArray) -> str | None:
    """What is odd about the samples of one execution."""
    if len(values) < MIN_SAMPLES_FOR_LEVELS:
        return None
    ordered = np.sort(values)  # a missing value comes last
    if not (math.isfinite(ordered[0]) and math.isfinite(ordered[-1])):
        return None
    factor = _level_jump(values, role) if _two_levels(ordered) else 0.0
    if factor:
        times = f"becomes {factor:,.0f} times as large or small and stays so"
        return f"“{column}” of “{name}” {times}: did its unit change?"
    if _has_code(values, ordered):
        return (
            f"“{column}” of “{name}” has one value again and again, far above all others: does it mean none?"
        )
    gone = role is Role.MEMORY and ordered[0] == 0 and _between(values == 0)
    return f"“{column}” of “{name}” is 0 between samples that are not: does it mean none?" if gone else None


def _two_levels(ordered: FloatArray) -> bool:
    """Whether positive values are of two groups as far from each other as a jump puts them."""
    positive = ordered[np.searchsorted(ordered, 0.0, side="right") :]
    last = len(positive) - BESIDE
    return bool((positive[BESIDE : last + 1] > FAR * positive[BESIDE - 1 : last]).any())


def _level_jump(values: FloatArray, role: Role) -> float:
    """The factor by which the level of positive values jumps once, for good; 0 where it does not."""
    positive = values[values > 0]
    if len(positive) < MIN_SAMPLES_FOR_LEVELS:
        return 0.0
    place = int(np.argmax(np.abs(np.diff(np.log(positive))))) + 1
    before, after = positive[:place], positive[place:]
    if min(len(before), len(after)) < BESIDE or not (
        before.max() * FAR < after.min() or after.max() * FAR < before.min()
    ):
        return 0.0
    found = (float(after[0] / before[-1]), float(np.median(after[:BESIDE]) / np.median(before[-BESIDE:])))
    ratios = [max(one, 1 / one) for one in found]
    return next((one for one in FACTORS[role] if any(abs(r / one - 1) <= NEAR[role] for r in ratios)), 0.0)


def _has_code(values: FloatArray, ordered: FloatArray) -> bool:
    """Whether the largest value comes several times, apart from each other, and all others are far below."""
    most = ordered[-1]
    count = len(ordered) - int(np.searchsorted(ordered, most))
    if not 2 < count <= RARE * len(values):
        return False
    return bool(0 < ordered[-count - 1] * FAR < most) and _between(values == most)


def _between(marked: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    """Whether some samples are marked again and again, with others between them."""
    starts = int((np.diff(marked.astype(np.int8)) == 1).sum())
    return starts > 1


MOST_SERIES = 4
"""So many series that take turns are recognised."""
MAX_EXECUTIONS_FOR_TURNS = 50
"""Executions whose samples are looked at, from first to last: what is mixed is mixed in many."""
MIN_SAMPLES_FOR_TURNS = 24
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
    long = np.flatnonzero(lengths >= MIN_SAMPLES_FOR_TURNS)
    looked_at = long[:: max(1, -(-len(long) // MAX_EXECUTIONS_FOR_TURNS))].tolist()
    parts = [(recorded.ids[i], slice(recorded.offsets[i], recorded.offsets[i + 1])) for i in looked_at]
    uneven = next((name for name, part in parts if _alternate(np.diff(recorded.time[part]))), None)
    if uneven is not None:
        yield f"Steps between samples of “{uneven}” are short and long in turns: is it several executions?"
    for role in (Role.MEMORY, Role.GPU_MEMORY):
        values = recorded.values(role)
        found = (
            name for name, part in parts if values is not None and _alternates_between_levels(values[part])
        )
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


def _alternates_between_levels(values: FloatArray) -> bool:
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
