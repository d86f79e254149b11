"""How several policies are told apart without colour: fill and hatch of bars, dash of lines.

Colour means phase; so one policy is in the accent, the baseline in ink or light grey, and all others in greys
that differ by weight and hatch (bars) or by dash (lines). Nine and more repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

_BARS = (
    ("weight1", ""),
    ("weight3", ""),
    ("weight1", "/"),
    ("weight2", "\\"),
    ("weight1", "x"),
    ("weight1", "."),
)
_DASHES = ("solid", "6px,3px", "2px,2px", "8px,3px,2px,3px", "12px,4px", "4px,6px")


@dataclass(frozen=True, slots=True)
class ArmStyle:
    """How one policy is drawn."""

    #: What it is called.
    title: str
    #: The class of its key in style sheets (``runs.css``).
    swatch: str
    #: Colour of its bars by its name in the theme, and their hatch or nothing.
    bar: str
    hatch: str
    #: Its line.
    line: str
    width: float
    dash: str

    @property
    def marker(self) -> dict[str, Any]:
        """The marker of its bars."""
        colour = theme.WARM_UP["light"] if self.bar == "baseline" else theme.ink(self.bar)
        if not self.hatch:
            return {"color": colour}
        pattern = {"shape": self.hatch, "fgcolor": colour, "bgcolor": theme.ink("surface"), "size": 5}
        return {"color": theme.ink("surface"), "pattern": pattern, "line": {"color": colour, "width": 1}}

    @property
    def stroke(self) -> dict[str, Any]:
        """The line of its lines."""
        return {"color": theme.ink(self.line), "width": self.width, "dash": self.dash}


def arm_styles(titles: Sequence[str], baseline: int, lit: int) -> list[ArmStyle]:
    """The styles of some policies."""
    made, other = [], 0
    for at, title in enumerate(titles):
        if at == lit:
            made.append(ArmStyle(title, "lit", "accent", "", "accent", 2.2, "solid"))
        elif at == baseline:
            made.append(ArmStyle(title, "base", "baseline", "", "ink", 1.6, "solid"))
        else:
            bar, hatch = _BARS[other % len(_BARS)]
            dash = _DASHES[other % len(_DASHES)]
            made.append(ArmStyle(title, f"o{other % len(_BARS)}", bar, hatch, "line_strong", 1.3, dash))
            other += 1
    return made
