"""The unit that an axis, a card or a row of cards shows a quantity in: one for all values of a quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.units import GIB, KIB, MIB, Unit, format_number

if TYPE_CHECKING:
    from core.traces.model import FloatArray


class Scale(NamedTuple):
    """What to divide canonical values by, and the unit that is then shown."""

    size: float
    label: str

    def write(self, value: float) -> str:
        """A value without its unit; small ones keep two digits that mean something."""
        shown = value / self.size
        return format_number(shown, 2 if abs(shown) >= 0.1 or not shown else 3)

    def with_unit(self, value: float) -> str:
        """A value with its unit."""
        between = "" if self.label == "%" else " "
        return f"{self.write(value)}{between}{self.label}".strip()

    def about(self, value: float) -> str:
        """A value with its unit to two digits, as words say it: ``79 MiB``, ``8.7 GiB``."""
        shown = float(f"{value / self.size:.2g}")
        between = "" if self.label == "%" else " "
        return f"{f'{shown:,.0f}' if abs(shown) >= 10 else f'{shown:g}'}{between}{self.label}".strip()


_SCALES = {
    Unit.CORES: Scale(1.0, "cores"),
    Unit.SHARE: Scale(0.01, "%"),
    Unit.WATTS: Scale(1.0, "W"),
    Unit.SECONDS: Scale(1.0, "s"),
    Unit.PLAIN: Scale(1.0, ""),
}
_STEPS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1.0, "B"))


def scale_of(unit: Unit, highest: float | None = None) -> Scale:
    """The scale for values up to `highest` in a canonical unit; GiB for bytes where that is not known."""
    if unit not in {Unit.BYTES, Unit.BYTES_PER_SECOND}:
        return _SCALES[unit]
    ending = "/s" if unit is Unit.BYTES_PER_SECOND else ""
    if highest is None or not np.isfinite(highest):
        return Scale(*((MIB, "MiB/s") if ending else (GIB, "GiB")))
    size, label = next((step for step in _STEPS if abs(highest) >= step[0]), _STEPS[-1])
    return Scale(size, label + ending)


def unit_scale(unit: Unit, values: FloatArray | None = None) -> Scale:
    """The scale for all of some values."""
    if values is None or unit not in {Unit.BYTES, Unit.BYTES_PER_SECOND}:
        return scale_of(unit)
    known = values[np.isfinite(values)]
    return scale_of(unit, float(known.max()) if len(known) else None)
