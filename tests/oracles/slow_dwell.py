"""The minimum dwell time, said once more as plainly as possible."""

from __future__ import annotations


def merged(segments: list[tuple[int, float]], minimum: float) -> list[tuple[int, float]]:
    """Merge short segments, each (phase, seconds), of one stretch without warm-up."""
    segments = list(segments)
    while len(segments) > 1:
        shortest = min(range(len(segments)), key=lambda at: (segments[at][1], at))
        if segments[shortest][1] >= minimum:
            break
        neighbours = [at for at in (shortest - 1, shortest + 1) if 0 <= at < len(segments)]
        taker = max(neighbours, key=lambda at: (segments[at][1], -at))
        low, high = sorted((shortest, taker))
        joined = (segments[taker][0], segments[low][1] + segments[high][1])
        segments[low : high + 1] = [joined]
        at = 0
        while at + 1 < len(segments):
            if segments[at][0] == segments[at + 1][0]:
                segments[at : at + 2] = [(segments[at][0], segments[at][1] + segments[at + 1][1])]
            else:
                at += 1
    return segments
