"""Loss against work: how far a training job's loss has fallen when a share of its work is done.

Source: docs/simulator.md, calibrated to figure 3.1 of Zheng's thesis, where VAE, Bi-RNN and GRU have 65%, 98%
and 90% of their reduction after the first 20% of their work. With x ∈ [0, 1] the share of the work that is
done and r(x) the share of the reduction, r(0) = 0 and r(1) = 1, the evaluation function is

    E(x) = f + (1 − f)(1 − r(x)),

which starts at 1 and ends at f.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

FINAL_LEVEL: Final = 0.1
"""f of every calibrated curve (docs/simulator.md)."""


class LossCurve(Protocol):
    """A loss as a function of work; frozen values, so that curves can be compared and shared."""

    def level(self, x: Floats) -> Floats:
        """E at shares of the work `x` ∈ [0, 1], of any shape."""

    def reduction(self, x: Floats) -> Floats:
        """Share r of the whole reduction at `x`: (E(0) − E(x)) / (E(0) − E(1))."""

    def __hash__(self) -> int:
        """Equal curves are looked up as one."""


def _require_positive(what: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"The {what} of a loss curve is {value:g}.", "Give a number above zero.")


@dataclass(frozen=True, slots=True)
class Exponential:
    """r = (1 − e^{−λx}) / (1 − e^{−λ})."""

    #: λ > 0.
    rate: float
    #: f, the level at the end.
    final: float = FINAL_LEVEL

    def __post_init__(self) -> None:
        _require_positive("rate λ", self.rate)

    def reduction(self, x: Floats) -> Floats:
        """Share of the whole reduction at work `x`."""
        return np.asarray(np.expm1(-self.rate * x) / np.expm1(-self.rate))

    def level(self, x: Floats) -> Floats:
        """E at work `x`."""
        return self.final + (1 - self.final) * (1 - self.reduction(x))


@dataclass(frozen=True, slots=True)
class Hyperbolic:
    """r = x(1 + κ) / (1 + κx)."""

    #: κ > 0.
    bend: float
    #: f, the level at the end.
    final: float = FINAL_LEVEL

    def __post_init__(self) -> None:
        _require_positive("bend κ", self.bend)

    def reduction(self, x: Floats) -> Floats:
        """Share of the whole reduction at work `x`."""
        return np.asarray(x * (1 + self.bend) / (1 + self.bend * x))

    def level(self, x: Floats) -> Floats:
        """E at work `x`."""
        return self.final + (1 - self.final) * (1 - self.reduction(x))


@dataclass(frozen=True, slots=True)
class Weibull:
    """r ∝ 1 − exp(−(x/τ)^p), scaled so that r(1) = 1."""

    #: τ > 0.
    scale: float
    #: p > 0; below 1 it falls steeply first and then has a long tail.
    shape: float = 0.7
    #: f, the level at the end.
    final: float = FINAL_LEVEL

    def __post_init__(self) -> None:
        _require_positive("scale τ", self.scale)
        _require_positive("shape p", self.shape)

    def reduction(self, x: Floats) -> Floats:
        """Share of the whole reduction at work `x`."""
        return np.asarray(np.expm1(-((x / self.scale) ** self.shape)) / np.expm1(-(self.scale**-self.shape)))

    def level(self, x: Floats) -> Floats:
        """E at work `x`."""
        return self.final + (1 - self.final) * (1 - self.reduction(x))


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded loss, straight lines between its points and constant before the first and after the last."""

    #: (x, E) with x increasing within [0, 1].
    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        x = [point[0] for point in self.points]
        if not x or x[0] < 0 or x[-1] > 1 or any(b <= a for a, b in pairwise(x)):
            raise InputError(
                "The points of a replayed loss are not in order.",
                "Give (share of the work, loss) with increasing shares between 0 and 1.",
            )

    def level(self, x: Floats) -> Floats:
        """E at work `x`."""
        work, loss = np.array(self.points, dtype=float).T
        return np.asarray(np.interp(x, work, loss))

    def reduction(self, x: Floats) -> Floats:
        """Share of the whole reduction at work `x`; zero everywhere where there is none."""
        first, last = self.level(np.array([0.0, 1.0]))
        whole = first - last
        return np.asarray((first - self.level(x)) / whole if whole else np.zeros_like(x))


def _weibull_scale(reduction: float, shape: float) -> float:
    """τ for which r(0.2) is `reduction`, by bisection of a function that falls as τ grows."""
    low, high = 1e-6, 1e3
    for _ in range(200):
        middle = (low * high) ** 0.5
        at_middle = float(Weibull(middle, shape).reduction(np.array(0.2)))
        low, high = (middle, high) if at_middle > reduction else (low, middle)
    return float((low * high) ** 0.5)


def weibull_through(reduction: float, shape: float = 0.7, final: float = FINAL_LEVEL) -> Weibull:
    """Return the Weibull curve that has `reduction` of its whole fall after 20% of the work.

    Raises InputError if no curve of this shape goes through that point.
    """
    if not 0.2**shape < reduction < 1:
        raise InputError(
            f"No Weibull curve of shape {shape:g} has fallen by {reduction:.0%} after 20% of its work.",
            f"Give a share above {0.2**shape:.0%} and below 100%.",
        )
    return Weibull(_weibull_scale(reduction, shape), shape, final)


MODELS: Final = ("VAE", "Bi-RNN", "GRU")
"""The models of figure 3.1 of the thesis, from which the curves are calibrated."""

FAMILIES: Final[dict[str, dict[str, LossCurve]]] = {
    "exponential": {"VAE": Exponential(5.20), "Bi-RNN": Exponential(19.56), "GRU": Exponential(11.51)},
    "hyperbolic": {"VAE": Hyperbolic(6.43), "Bi-RNN": Hyperbolic(195.0), "GRU": Hyperbolic(35.0)},
    "weibull": {
        "VAE": weibull_through(0.65),
        "Bi-RNN": weibull_through(0.98),
        "GRU": weibull_through(0.90),
    },
}
"""``FAMILIES[family][model]`` (docs/simulator.md)."""


def curve(model: str = "VAE", family: str = "exponential") -> LossCurve:
    """Return a calibrated curve by names.

    Raises InputError if there is no such family or model.
    """
    try:
        return FAMILIES[family][model]
    except KeyError:
        raise InputError(
            f"There is no loss curve “{model}” of family “{family}”.",
            f"Choose a model of {', '.join(MODELS)} and a family of {', '.join(FAMILIES)}.",
        ) from None
