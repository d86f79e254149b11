"""Samples whose pattern suggests a wrong mapping, as questions in the report.

Levels: the first rows decide the unit of all. If the level jumps once by 100, 1000 or 1024 times, the unit
may have changed. A repeated value far above all others, such as 99999, may mean a missing one; so may memory
of 0 between other samples.

Turns: two containers that alternate in one execution leave steps of two lengths, or memory that jumps at
every sample. An execution whose phases have names looks like executions that wait for each other.
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
"""The largest number of executions to check for level changes."""
MIN_SAMPLES_FOR_LEVELS = 10
MIN_SAMPLES_FOR_CODES = 20
COMPARED_SAMPLES = 5
"""Samples on either side of a jump whose medians are compared."""
FACTORS = {Role.CPU: (100.0, 1000.0), Role.MEMORY: (1000.0, 1024.0, 1e6, 1024.0**2)}
JUMP_TOLERANCE = {Role.CPU: 0.1, Role.MEMORY: 0.5}
"""Tolerance between a jump and a factor, as a share of it; memory seldom grows a thousandfold at once."""
MIN_RATIO = 10.0
"""A code for a missing value is at least this many times as large as the largest other value."""
MAX_CODE_SHARE = 0.2
"""The largest share of samples with a code for a missing value."""


def find_level_changes(recorded: TraceSet) -> Iterator[tuple[str, str]]:
    """Find columns of CPU and memory whose unit may change or that code missing values; yield questions."""
    step = max(recorded.n_executions // MAX_EXECUTIONS_FOR_LEVELS, 1)
    for feature, values in zip(recorded.features, recorded.columns, strict=True):
        if feature.role not in FACTORS:
            continue
        parts = (
            (recorded.ids[i], values[recorded.offsets[i] : recorded.offsets[i + 1]])
            for i in range(0, recorded.n_executions, step)
        )
        oddities = (
            sentence
            for name, part in parts
            if (sentence := _describe_oddity(feature.name, feature.role, name, part))
        )
        sentence = next(oddities, None)
        if sentence is not None:
            yield feature.name, sentence


def _describe_oddity(column: str, role: Role, name: str, values: FloatArray) -> str | None:
    """Return a question about odd samples of one execution; None without one."""
    if len(values) < MIN_SAMPLES_FOR_LEVELS:
        return None
    ordered = np.sort(values)  # a missing value comes last
    if not (math.isfinite(ordered[0]) and math.isfinite(ordered[-1])):
        return None
    factor = _level_jump(values, role) if _has_two_levels(ordered) else 0.0
    if factor:
        times = f"becomes {factor:,.0f} times as large or small and stays so"
        return f"“{column}” of “{name}” {times}: did its unit change?"
    if len(values) < MIN_SAMPLES_FOR_CODES:
        return None
    if _has_missing_code(values, ordered):
        return (
            f"“{column}” of “{name}” has one value again and again, far above all others: does it mean none?"
        )
    is_zero = role is Role.MEMORY and ordered[0] == 0 and _is_interspersed(values == 0)
    return (
        f"“{column}” of “{name}” is 0 between samples that are not: does it mean none?" if is_zero else None
    )


def _has_two_levels(ordered: FloatArray) -> bool:
    """Whether positive values form two groups with a gap as wide as a jump."""
    positive = ordered[np.searchsorted(ordered, 0.0, side="right") :]
    last = len(positive) - COMPARED_SAMPLES
    return bool(
        (positive[COMPARED_SAMPLES : last + 1] > MIN_RATIO * positive[COMPARED_SAMPLES - 1 : last]).any()
    )


def _level_jump(values: FloatArray, role: Role) -> float:
    """Return the factor of a single permanent jump of positive values; 0 without one."""
    positive = values[values > 0]
    if len(positive) < MIN_SAMPLES_FOR_LEVELS:
        return 0.0
    place = int(np.argmax(np.abs(np.diff(np.log(positive))))) + 1
    before, after = positive[:place], positive[place:]
    if min(len(before), len(after)) < COMPARED_SAMPLES or not (
        before.max() * MIN_RATIO < after.min() or after.max() * MIN_RATIO < before.min()
    ):
        return 0.0
    jumps = (
        float(after[0] / before[-1]),
        float(np.median(after[:COMPARED_SAMPLES]) / np.median(before[-COMPARED_SAMPLES:])),
    )
    ratios = [max(one, 1 / one) for one in jumps]
    return next(
        (one for one in FACTORS[role] if any(abs(r / one - 1) <= JUMP_TOLERANCE[role] for r in ratios)), 0.0
    )


def _has_missing_code(values: FloatArray, ordered: FloatArray) -> bool:
    """Whether the largest value occurs several times between others that are far below."""
    largest = ordered[-1]
    count = len(ordered) - int(np.searchsorted(ordered, largest))
    if not 2 < count <= MAX_CODE_SHARE * len(values):
        return False
    return bool(0 < ordered[-count - 1] * MIN_RATIO < largest) and _is_interspersed(values == largest)


def _is_interspersed(marked: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    """Whether marked samples occur repeatedly with others between them."""
    starts = int((np.diff(marked.astype(np.int8)) == 1).sum())
    return starts > 1


MAX_SERIES = 4
"""The largest number of alternating series to recognise."""
MAX_EXECUTIONS_FOR_TURNS = 50
"""The largest number of executions to check for alternating series."""
MIN_SAMPLES_FOR_TURNS = 24
MIN_PATTERN_SHARE = 0.9
"""The minimum share of samples with the pattern."""
ROUNDING_UNITS = (60.0, 1.0, 0.1, 0.01, 0.001)
"""Usual roundings of times, which make steps of two lengths."""
MIN_MEAN_RUN = 3.0
"""The minimum mean number of samples of an execution between switches."""
MAX_PHASES = 50


def find_mixed_executions(recorded: TraceSet) -> Iterator[str]:
    """Yield questions about executions that look like several, or like the phases of one."""
    lengths = np.diff(recorded.offsets)
    long = np.flatnonzero(lengths >= MIN_SAMPLES_FOR_TURNS)
    chosen = long[:: max(1, -(-len(long) // MAX_EXECUTIONS_FOR_TURNS))].tolist()
    parts = [(recorded.ids[i], slice(recorded.offsets[i], recorded.offsets[i + 1])) for i in chosen]
    uneven = next((name for name, part in parts if _steps_alternate(np.diff(recorded.time[part]))), None)
    if uneven is not None:
        yield f"Steps between samples of “{uneven}” are short and long in turns: is it several executions?"
    for role in (Role.MEMORY, Role.GPU_MEMORY):
        values = recorded.values(role)
        alternating = (
            name for name, part in parts if values is not None and _alternates_between_levels(values[part])
        )
        mixed = next(alternating, None)
        if mixed is not None:
            yield f"Memory of “{mixed}” goes up and down at every sample: is it several executions in turns?"
            break
    yield from _find_phases(recorded)


def _steps_alternate(steps: FloatArray) -> bool:
    """Whether steps of different lengths alternate in the same pattern throughout."""
    usual = float(steps.mean())
    if np.ptp(steps) <= 0.25 * usual:
        return False  # the fast path of nearly every execution
    unit = next(
        (one for one in ROUNDING_UNITS if np.allclose(steps / one, np.round(steps / one), atol=1e-3)), 0.0
    )
    if np.quantile(steps, 0.95) - np.quantile(steps, 0.05) <= max(1.01 * unit, 0.25 * usual):
        return False
    for k in range(2, MAX_SERIES + 1):
        is_repeated = np.abs(steps[k:] - steps[:-k]) <= 0.1 * usual
        changes = np.abs(np.diff(steps)) > 0.25 * usual
        if is_repeated.mean() > MIN_PATTERN_SHARE and changes.mean() > MIN_PATTERN_SHARE * 2 / k:
            return True
    return False


def _alternates_between_levels(values: FloatArray) -> bool:
    """Whether each value resembles the one two samples before, and not the previous one."""
    if not np.isfinite(values).all():
        return False
    step_sizes = np.abs(np.diff(values))
    if np.median(step_sizes) <= 0.1 * np.abs(values).mean():
        return False
    for k in range(2, MAX_SERIES + 1):
        turn_sizes = np.abs(values[k:] - values[:-k])
        if (turn_sizes < step_sizes[: len(turn_sizes)]).mean() > MIN_PATTERN_SHARE and np.median(
            turn_sizes
        ) < 0.2 * np.median(step_sizes):
            return True
    return False


def _find_phases(recorded: TraceSet) -> Iterator[str]:
    """Yield a question if executions wait for each other on one clock and resume."""
    if not 1 < recorded.n_executions <= MAX_PHASES:
        return
    owner = np.repeat(np.arange(recorded.n_executions), np.diff(recorded.offsets))
    order = np.argsort(recorded.time, kind="stable")
    steps, owner = np.diff(recorded.time[order]), owner[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    runs = np.bincount(owner[begins], minlength=recorded.n_executions)
    overlap = not len(steps) or bool((steps <= 0).any())
    if overlap or len(owner) < MIN_MEAN_RUN * len(begins) or int((runs > 1).sum()) < 2:
        return
    if (steps[begins[1:] - 1] <= 2 * np.median(steps)).mean() > MIN_PATTERN_SHARE:
        first, second = (recorded.ids[int(owner[place])] for place in begins[:2])
        yield f"“{first}” stops while “{second}” runs, and goes on after it: are they phases of one?"
