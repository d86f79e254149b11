"""Slow, obvious twins of sequences, packing, tree, graph, forecast, dwell times: plain loops over lists."""

from collections import Counter, defaultdict
from fractions import Fraction

END = -2


def runs_of(labels, times, period, *, skip_warm_up):
    """One execution's runs as [phase, samples, seconds]; labels and times may be cut by None (a gap)."""
    runs, open_run = [], None
    for label, time in zip([*labels, None], [*times, None], strict=True):
        if open_run and label != open_run[0]:
            phase, start, ended, count = open_run
            runs.append([phase, count, ended - start + period])
            open_run = None
        if label is None:
            continue
        open_run = (label, open_run[1], time, open_run[3] + 1) if open_run else (label, time, time, 1)
    merged = []
    for phase, count, seconds in runs:
        if phase == -1 and skip_warm_up:
            continue
        if merged and merged[-1][0] == phase:
            merged[-1][1] += count
            merged[-1][2] += seconds
        else:
            merged.append([phase, count, seconds])
    return merged


def pack(phases):
    """From the left, take the repetition that covers most runs; ties go to the shorter unit."""
    phases, elements, at = list(phases), [], 0
    while at < len(phases):
        best = (1, 1)
        for unit in (1, 2, 3):
            times = 1
            while phases[at + times * unit : at + (times + 1) * unit] == phases[at : at + unit]:
                times += 1
            if at + unit <= len(phases) and times > 1 and unit * times > best[0] * best[1]:
                best = (unit, times)
        elements.append((tuple(phases[at : at + best[0]]), best[1]))
        at += best[0] * best[1]
    return elements


def beginnings(paths):
    """The number of paths that begin with each prefix, and that end with it."""
    through, ends = Counter(), Counter()
    for path in paths:
        for depth in range(len(path) + 1):
            through[tuple(path[:depth])] += 1
        ends[tuple(path)] += 1
    return through, ends


def transitions(executions, memory, step):
    """(state, state) → count; executions are lists of [phase, samples, seconds]."""
    counts = Counter()
    for runs in executions:
        if step == "window":
            entries = [phase for phase, samples, _ in runs for _ in range(samples)]
            states = [tuple(entries[max(0, i + 1 - memory) : i + 1]) for i in range(len(entries))]
        else:
            phases = [phase for phase, _, _ in runs]
            states = []
            for i, (_, samples, _) in enumerate(runs):
                states += [tuple(phases[max(0, i + 1 - memory) : i + 1])] * (
                    samples if step == "sample" else 1
                )
        for before, after in zip(states, [*states[1:], (END,)][: len(states)], strict=True):
            counts[before, after] += 1
    return counts


def forecast(executions, after, steps, memory, min_count, step="run"):
    """Exact probabilities of the phase after some steps, with back-off, by going through all cases."""
    counts = defaultdict(Counter)
    for runs in executions:
        phases = [phase for phase, _, _ in runs]
        for i, (phase, samples, _) in enumerate(runs):
            following = phases[i + 1] if i + 1 < len(phases) else END
            for length in range(1, min(memory, i + 1) + 1):
                state = tuple(phases[i + 1 - length : i + 1])
                counts[state][following] += 1
                if step == "sample" and samples > 1:
                    counts[state][phase] += samples - 1

    def go(state, remaining):
        if remaining == 0 or state[-1] == END:
            return {state[-1]: Fraction(1)}
        suffix = state
        while len(suffix) > 1 and sum(counts[suffix].values()) < min_count:
            suffix = suffix[1:]
        total, result = sum(counts[suffix].values()), defaultdict(Fraction)
        for phase, count in counts[suffix].items():
            new = state if phase == state[-1] else (*state, phase)[-memory:]
            for end, chance in go(new, remaining - 1).items():
                result[end] += chance * Fraction(count, total)
        return result

    return dict(go(tuple(after)[-memory:], steps))


def leave_within(durations, has_ended, seconds, elapsed):
    """Kaplan–Meier by hand: durations, and whether each has ended or is censored."""
    alive = Fraction(1)
    for time in sorted(set(durations)):
        if elapsed < time <= elapsed + seconds:
            risk = sum(other >= time for other in durations)
            ended = sum(other == time and was for other, was in zip(durations, has_ended, strict=True))
            alive *= 1 - Fraction(ended, risk)
    return 1 - alive
