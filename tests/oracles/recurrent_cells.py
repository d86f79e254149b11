"""Recurrent layers unit by unit, gate by gate: plain (Elman), long short-term memory, gated units.

Nothing but the standard library is needed, so that it can be run where TensorFlow is.
"""

from __future__ import annotations

import math

Rows = list[list[float]]


def units_over_time(kind: str, x: Rows, W: Rows, U: Rows, b: list[float]) -> Rows:
    """Return what the units say at each time (rows) while they read x, one row a time."""
    units = len(U)
    h, c, outputs = [0.0] * units, [0.0] * units, []

    def given(row: list[float], gate: int, unit: int) -> float:
        at = gate * units + unit
        return sum(one * W[place][at] for place, one in enumerate(row)) + b[at]

    def turned(before: list[float], gate: int, unit: int) -> float:
        return sum(one * U[place][gate * units + unit] for place, one in enumerate(before))

    for row in x:
        before, h = h, list(h)
        for unit in range(units):
            parts = [(given(row, gate, unit), turned(before, gate, unit)) for gate in range(len(b) // units)]
            if kind == "plain":
                h[unit] = math.tanh(sum(parts[0]))
            elif kind == "lstm":
                enter, forget, new, leave = (sum(part) for part in parts)
                c[unit] = _share(forget) * c[unit] + _share(enter) * math.tanh(new)
                h[unit] = _share(leave) * math.tanh(c[unit])
            else:
                reset, keep = _share(sum(parts[0])), _share(sum(parts[1]))
                new = math.tanh(parts[2][0] + reset * parts[2][1])
                h[unit] = keep * before[unit] + (1 - keep) * new
        outputs.append(h)
    return outputs


def _share(value: float) -> float:
    return 1 / (1 + math.exp(-value))
