"""Random numbers without side effects: a policy keeps the generator's state, so a seed fixes its choices.

The generator is SplitMix64: a counter that is mixed. Drawing returns the number and the next state to keep.
Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def _mixed(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seeded(seed: int) -> int:
    """The generator state to begin with; neighbouring seeds have nothing in common."""
    return _mixed((seed + _STEP) & _MASK)


def draw(chance: int) -> tuple[float, int]:
    """A number from 0 to below 1, and the next generator state."""
    following = (chance + _STEP) & _MASK
    return (_mixed(following) >> 11) * 2.0**-53, following


def below(chance: int, count: int) -> tuple[int, int]:
    """A whole number from 0 to below `count`, each equally likely, and the next generator state."""
    number, following = draw(chance)
    return int(number * count), following
