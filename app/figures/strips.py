"""Phase strips: an execution's whole life as one thin bar, drawn by CSS alone.

A strip is a list of (share of the length, phase) pairs and becomes a ``linear-gradient`` over the
colour variables of the page, so a list of thousands of executions costs no plot at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def phase_variable(phase: int) -> str:
    """The CSS variable of a phase id; warm-up is 0."""
    return "var(--p0)" if phase < 0 else f"var(--p{phase % 8 + 1})"


def gradient(strip: Iterable[tuple[float, int]]) -> str:
    """The strip as a CSS background."""
    stops, at = [], 0.0
    for share, phase in strip:
        end = at + share * 100
        stops.append(f"{phase_variable(phase)} {at:.4g}% {end:.4g}%")
        at = end
    return f"linear-gradient(90deg,{','.join(stops)})" if stops else "none"
