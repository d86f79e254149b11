"""Slow, obvious twins of provisioning: plain loops over one container after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np


def containers_of(demand):
    """Each container as (first sample, values, seconds, times, labels)."""
    fleet = demand.fleet
    for i in range(len(fleet.ids)):
        a, b = int(fleet.offsets[i]), int(fleet.offsets[i + 1])
        labels = None if fleet.labels is None else fleet.labels[a:b].tolist()
        yield a, demand.values[a:b].tolist(), fleet.seconds[a:b].tolist(), fleet.time[a:b].tolist(), labels


def cycles_of(times, cycle):
    """The samples of each cycle that has any."""
    groups = {}
    for i, t in enumerate(times):
        groups.setdefault(math.floor((t - times[0]) / cycle + 1e-9), []).append(i)
    return [groups[number] for number in sorted(groups)]


def metrics(demand, allocation):
    """Every figure, of the fleet."""
    surplus = shortage = used = allocated = seconds = short = short_05 = resizes = events = cycles = 0.0
    shares = []
    for start, values, lasting, times, _ in containers_of(demand):
        mine_short = 0.0
        below = False
        for i, (d, s) in enumerate(zip(values, lasting, strict=True)):
            a = float(allocation[start + i])
            surplus += max(a - d, 0.0) * s
            shortage += max(d - a, 0.0) * s
            used += d * s
            allocated += a * s
            seconds += s
            mine_short += s if d > a else 0.0
            short_05 += s if d > 1.05 * a else 0.0
            events += d > a and not below
            below = d > a
            if i:
                before = float(allocation[start + i - 1])
                resizes += abs(a - before) > 1e-9 * max(abs(a), abs(before))
        short += mine_short
        shares.append(mine_short / sum(lasting) if sum(lasting) else 0.0)
        cycles += len(cycles_of(times, demand.fleet.cycle))

    def ratio(part, whole):
        return part / whole if whole > 0 else (math.nan if part > 0 else 0.0)

    return {
        "over": ratio(surplus, used),
        "slack": ratio(surplus, allocated),
        "under_time_0": ratio(short, seconds),
        "under_time_05": ratio(short_05, seconds),
        "under_amount": ratio(shortage, used),
        "oom_events": events,
        "resizes_per_hour": 3600 * ratio(resizes, seconds),
        "resizes_per_cycle": ratio(resizes, cycles),
        "worst_under_time": max(shares),
        "share_above_10": sum(share > 0.1 for share in shares) / len(shares),
    }


def by_cycle(demand, statistic, *, previous):
    """A statistic of each cycle, or of the one before it (NaN for the first), for each sample."""
    allocation = np.full(len(demand.values), np.nan)
    for start, values, _, times, _ in containers_of(demand):
        before = math.nan
        for samples in cycles_of(times, demand.fleet.cycle):
            value = statistic([values[i] for i in samples])
            for i in samples:
                allocation[start + i] = before if previous else value
            before = value
    return allocation


def rule(values):
    """Mean + 2 standard deviations."""
    mean = sum(values) / len(values)
    return mean + 2 * math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def lowest_factor(demand, allocation, target):
    """The least of all factors D/A at which the share of time short is at most the target."""
    total = sum(demand.fleet.seconds)
    ratios = sorted({0.0} | {d / a for d, a in zip(demand.values, allocation, strict=True) if d > 0})
    for factor in ratios:
        short = sum(
            s
            for d, a, s in zip(demand.values, allocation, demand.fleet.seconds, strict=True)
            if d > factor * a * (1 + 1e-12)
        )
        if short <= target * total * (1 + 1e-12):
            return factor
    raise AssertionError("the largest ratio leaves nothing short")


def lowest_surplus(demand, target):
    """The bound by trying every choice of one allocation per cycle."""
    choices = []
    for _, values, seconds, times, _ in containers_of(demand):
        for samples in cycles_of(times, demand.fleet.cycle):
            options = []
            for level in sorted({values[i] for i in samples}):
                short = sum(seconds[i] for i in samples if values[i] > level)
                surplus = sum(max(level - values[i], 0.0) * seconds[i] for i in samples)
                options.append((short, surplus))
            choices.append(options)
    budget = target * sum(demand.fleet.seconds) * (1 + 1e-12)
    return min(
        sum(surplus for _, surplus in picked)
        for picked in itertools.product(*choices)
        if sum(short for short, _ in picked) <= budget
    )


def phase_rule(training, demand, statistics, kappa, *, one_phase=False):
    """`phase.rule` and `no.phase`, sample lists by phase."""

    def phase(label):
        return 0 if one_phase else label

    pools, everything = {}, []
    for _, values, _, times, labels in containers_of(training):
        for samples in cycles_of(times, training.fleet.cycle):
            level = sum(values[i] for i in samples) / len(samples)
            for i in samples:
                unit = level if level > 0 else values[i] or 1.0
                x = (values[i] / unit if level > 0 else 1.0) if statistics == "relative" else values[i]
                pools.setdefault(phase(labels[i]), []).append(x)
                everything.append(x)
    allocation = np.full(len(demand.values), np.nan)
    for start, values, _, times, labels in containers_of(demand):
        before = None
        for samples in cycles_of(times, demand.fleet.cycle):
            if before is not None:
                last = samples[0] - 1
                now = phase(labels[last])
                pooled = rule(pools.get(now, everything))
                own_values = [values[i] for i in range(last + 1) if phase(labels[i]) == now]
                chosen = {
                    "global": pooled,
                    "container": rule(own_values),
                    "shrunk": (len(own_values) * rule(own_values) + kappa * pooled)
                    / (len(own_values) + kappa),
                    "relative": pooled * sum(values[i] for i in before) / len(before),
                }[statistics]
                for i in samples:
                    allocation[start + i] = chosen
            before = samples
    return allocation


def mixture_quantile(weights, pools, level):
    """The least value below which a share `level` of a mixture of sample lists lies."""
    weighted = sorted((v, w / len(pools[p])) for p, w in weights.items() if p in pools for v in pools[p])
    total, running = sum(w for _, w in weighted), 0.0
    for v, w in weighted:
        running += w
        if running >= level * total * (1 - 1e-12):
            return v
    return weighted[-1][0]


def phases_ahead(phase, counts, steps):
    """The mean and the largest probability of each phase over the next samples."""
    now, mean, largest = {phase: 1.0}, {}, {}
    for _ in range(steps):
        after = {}
        for q, share in now.items():
            moves = counts.get(q, {q: 1})
            for r, n in moves.items():
                after[r] = after.get(r, 0.0) + share * n / sum(moves.values())
        now = after
        for q, share in now.items():
            mean[q] = mean.get(q, 0.0) + share / steps
            largest[q] = max(largest.get(q, 0.0), share)
    return mean, largest


def lookahead(training, demand, level, likely, *, memory):
    """`phase.lookahead` with dictionaries of probabilities."""
    counts, pools = {}, {}
    for _, values, _, _, labels in containers_of(training):
        for v, p in zip(values, labels, strict=True):
            pools.setdefault(p, []).append(v)
        for p, q in itertools.pairwise(labels):
            counts.setdefault(p, {}).setdefault(q, 0)
            counts[p][q] += 1
    steps = max(1, min(1000, round(training.fleet.cycle / training.fleet.period)))
    targets = {}
    for p in pools:
        mean, largest = phases_ahead(p, counts, steps)
        quantiles = [
            mixture_quantile({q: 1.0}, pools, level) for q, share in largest.items() if share >= likely
        ]
        targets[p] = max(quantiles) if memory else mixture_quantile(mean, pools, level)
    allocation = np.full(len(demand.values), np.nan)
    for start, _, _, times, labels in containers_of(demand):
        for samples in cycles_of(times, demand.fleet.cycle)[1:]:
            for i in samples:
                allocation[start + i] = targets.get(labels[samples[0] - 1], math.nan)
    return allocation


def window_peaks(entries, origin, window):
    """The peak of each window, dated at the window's end."""
    peaks = {}
    for t, v in entries:
        number = math.floor((t - origin) / window + 1e-9)
        peaks[number] = max(peaks.get(number, v), v)
    return [(origin + (number + 1) * window, v) for number, v in peaks.items()]


def histogram_percentile(entries, origin, half_life, bucket, percentile):
    """The bucket that holds the percentile, with weights of 2^(age/half-life)."""
    histogram = {}
    for t, v in entries:
        histogram[bucket(v)] = histogram.get(bucket(v), 0.0) + 2.0 ** ((t - origin) / half_life)
    total, running = sum(histogram.values()), 0.0
    for number in sorted(histogram):
        running += histogram[number]
        if running >= percentile * total * (1 - 1e-12):
            return number
    raise AssertionError("the last bucket holds all the rest")


def vpa(demand, first, growth, count, half_life, percentile, margin, *, memory):
    """The VPA recommender: a histogram of a container, rebuilt from all entries at each cycle's end."""

    def bucket(value):
        place = math.floor(math.log1p(value * growth / first) / math.log1p(growth) + 1e-9)
        return max(0, min(count - 1, place))

    allocation = np.full(len(demand.values), np.nan)
    for start, values, _, times, _ in containers_of(demand):
        for samples in cycles_of(times, demand.fleet.cycle)[1:]:
            entries = [(times[i], values[i]) for i in range(samples[0])]
            if memory:
                entries = window_peaks(entries, times[0], half_life)
            number = histogram_percentile(entries, times[0], half_life, bucket, percentile)
            end = first * ((1 + growth) ** min(number + 1, count - 1) - 1) / growth
            for i in samples:
                allocation[start + i] = end * (1 + margin)
    return allocation


def conformal(demand, wrapped, scores, floor, target, gamma):
    """The level of each container adapted after each cycle; NaN in first cycles."""
    levels = np.linspace(0, 1, 512)
    curve = np.minimum(np.quantile(scores, levels), 10.0)
    allocation = np.full(len(demand.values), np.nan)
    for start, values, seconds, times, _ in containers_of(demand):
        alpha = target
        for samples in cycles_of(times, demand.fleet.cycle)[1:]:
            factor = float(np.interp(1 - alpha, levels, curve))
            short = 0.0
            for i in samples:
                a = wrapped[start + i]
                allocation[start + i] = max(factor * (a + floor) - floor, 0.0)
                short += seconds[i] * ((values[i] + floor) / (a + floor) > factor)
            alpha += gamma * (target - short / sum(seconds[i] for i in samples))
            alpha = min(max(alpha, 0.0), 0.5)
    return allocation
