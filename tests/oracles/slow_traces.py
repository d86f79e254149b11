"""Slow, obvious twins of the vectorised trace kernels: plain loops over samples."""

import itertools
import math

import numpy as np

from core.traces.model import Resampling


def segments_of(times, period, max_gap):
    """Stretches of one execution's sample indices without a step longer than the longest gap."""
    segments = [[0]]
    for i in range(1, len(times)):
        if times[i] - times[i - 1] > max_gap * period:
            segments.append([])
        segments[-1].append(i)
    return segments


def is_regular(times, period, max_gap):
    """True where every step that is no gap is within a quarter of the period."""
    steps = [after - before for before, after in itertools.pairwise(times)]
    return all(step > max_gap * period or abs(step - period) <= 0.25 * period for step in steps)


def periods_passed(times, period, max_gap):
    """Periods that passed before each sample of a steady execution; None where it does not keep time.

    The first sample and those after a gap count as on time.
    """
    whole = all(time == math.floor(time) for time in times)
    steps = [period, *(after - before for before, after in itertools.pairwise(times))]
    steps = [period if step > max_gap * period else step for step in steps]
    passed = [math.floor(step / period + 0.5) for step in steps]
    far = [step for step in steps if abs(step - period) > 0.25 * period + (1 if whole else 0)]
    drift = abs(sum(n * period - step for n, step in zip(passed, steps, strict=True)))
    keeps_time = min(steps) >= period / 2 and len(far) <= 0.25 * len(steps) and drift <= 0.05 * sum(steps)
    return passed if keeps_time else None


def stretch_times(times, values, passed):
    """One stretch of a steady execution: its samples, and the last one again for every period that passed."""
    points = [(times[0], values[0])]
    for i in range(1, len(times)):
        step = (times[i] - times[i - 1]) / passed[i]
        points += [(times[i - 1] + k * step, values[i - 1]) for k in range(1, passed[i])]
        points.append((times[i], values[i]))
    return points


def hold(times, values, period):
    """One stretch on its grid: the last sample at or before each point, up to the first after the end."""
    points, k = [], 0
    while True:
        point = times[0] + k * period
        past = [v for t, v in zip(times, values, strict=True) if t <= point + 1e-6 * period]
        points.append((point, past[-1]))
        if len(past) == len(times):
            return points
        k += 1


def mean(times, values, period):
    """The mean of each cell of a period; an empty cell takes the value before it."""
    last = math.floor((times[-1] - times[0]) / period + 1e-6)
    points = []
    for k in range(last + 1):
        low, high = times[0] + (k - 1e-6) * period, times[0] + (k + 1 - 1e-6) * period
        inside = [v for t, v in zip(times, values, strict=True) if low <= t < high]
        points.append((times[0] + k * period, sum(inside) / len(inside) if inside else points[-1][1]))
    return points


def resample(executions, period, rule, max_gap):
    """Executions as lists of (times, values); returns times, values, offsets and breaks."""
    out_times, out_values, offsets, breaks = [], [], [0], []
    for times, values in executions:
        if rule is Resampling.NONE:
            points, parts = list(zip(times, values, strict=True)), []
        elif is_regular(times, period, max_gap):
            points = list(zip(times, values, strict=True))
            parts = segments_of(times, period, max_gap)
            breaks += [len(out_times) + part[0] for part in parts[1:]]
        else:
            points = []
            passed = periods_passed(times, period, max_gap)
            for number, part in enumerate(segments_of(times, period, max_gap)):
                if number:
                    breaks.append(len(out_times) + len(points))
                samples = [times[i] for i in part], [values[i] for i in part]
                if passed:
                    points += stretch_times(*samples, [passed[i] for i in part])
                else:
                    points += (hold if rule is Resampling.HOLD else mean)(*samples, period)
        out_times += [point[0] for point in points]
        out_values += [point[1] for point in points]
        offsets.append(len(out_times))
    return np.array(out_times), np.array(out_values), np.array(offsets), np.array(breaks, dtype=int)


def windows(values, segments, history):
    """Every window of history + 1 samples inside one stretch, and where it ends."""
    rows, ends = [], []
    for start, end in itertools.pairwise(segments):
        for last in range(start, end):
            if last - history >= start:
                rows.append([values[i] for i in range(last - history, last + 1)])
                ends.append(last)
    return rows, ends


def statistics(values):
    """Mean and peak of the values that are there."""
    present = [value for value in values if not math.isnan(value)]
    return (math.fsum(present) / len(present), max(present)) if present else (math.nan, math.nan)


def median_step(times):
    """The median step between samples, NaN where there is none."""
    steps = [after - before for before, after in itertools.pairwise(times)]
    return float(np.median(steps)) if steps else math.nan


def hold_values(values, longest):
    """Missing values filled with the last one, at most `longest` in a row; None where that fails."""
    filled, last, age = [], None, 0
    for value in values:
        if not math.isnan(value):
            last, age = value, 0
            filled.append(value)
            continue
        age += 1
        filled.append(last if last is not None and age <= longest else None)
    return filled
