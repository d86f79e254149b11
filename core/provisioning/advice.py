"""The port of a policy that steers a single container, sample by sample.

Running containers are steered through this port; recorded containers get its fold over their samples
(`fold`). Policies that decide once a cycle are folded by cycles
(`core.provisioning.cycles.fold_cycles`). A few that may act at any sample have a compiled kernel beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import floor, isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.provisioning.fleet import Demand, Fleet, Floats


_SERIALIZABLE: dict[str, Any] = {}
_Registered = TypeVar("_Registered", bound="type[Any] | Callable[..., Any]")


def serializable(what: _Registered) -> _Registered:
    """Register a frozen dataclass, or a function without state, under its own name.

    Raises
    ------
    ValueError
        If there is another one of that name.
    """
    if _SERIALIZABLE.setdefault(what.__name__, what) is not what:
        raise ValueError(f"There are two of the name {what.__name__}.")
    return what


# Fitted policies as plain values and arrays, stored in files and loaded without running code from them.
#
# A class or function is stored by the name that `serializable` registered it under; loading a file creates
# nothing else.


def to_plain(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A value as JSON can hold it, and the arrays in it by name.

    Raises
    ------
    TypeError
        If something in it was not registered with `serializable`.
    """
    arrays: dict[str, np.ndarray] = {}
    return _plain(value, arrays), arrays


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    match value:
        case None | bool() | str():
            plain: Any = value
        case int() | np.integer():
            plain = int(value)
        case float() | np.floating():
            plain = {"float": float(value).hex()}
        case np.ndarray():
            plain = {"array": f"a{len(arrays)}"}
            arrays[plain["array"]] = value
        case tuple():
            plain = [_plain(each, arrays) for each in value]
        case _ if _SERIALIZABLE.get(type(value).__name__) is type(value):
            field_values = {each.name: _plain(getattr(value, each.name), arrays) for each in fields(value)}
            plain = {"kind": type(value).__name__, "fields": field_values}
        case _ if _SERIALIZABLE.get(name := getattr(value, "__name__", "")) is value:
            plain = {"function": name}
        case _:
            raise TypeError(f"A {type(value).__name__} cannot be stored.")
    return plain


def from_plain(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `to_plain` described.

    Raises
    ------
    InputError
        If the description is damaged, or of a policy that is not there any more.
    """
    try:
        return _value(plain, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("The fitted policy cannot be read.", "Fit it again.") from error


def _value(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(plain, list):
        return tuple(_value(each, arrays) for each in plain)
    if not isinstance(plain, dict):
        return plain
    match plain:
        case {"float": text}:
            return float.fromhex(text)
        case {"array": name}:
            return arrays[name]
        case {"function": name} if not isinstance(_SERIALIZABLE[name], type):
            return _SERIALIZABLE[name]
        case {"kind": name, "fields": field_values} if isinstance(_SERIALIZABLE[name], type):
            return _SERIALIZABLE[name](**{key: _value(each, arrays) for key, each in field_values.items()})
    raise ValueError("This describes nothing.")


_ROUNDING = 1e-9


class Sample(NamedTuple):
    """A sample of a container, as it is known once the next one comes."""

    #: Seconds.
    time: float
    #: The demand D, in the unit that the policy was fitted on.
    value: float
    #: The time that it stands for, Δ: until the next one, or one period before a gap.
    seconds: float
    #: Its phase; −1 for warm-up, and without a phase model.
    phase: int = -1
    #: Its code by a phase model, shape (size,), or None.
    code: Any = None


class Adviser(Protocol):
    """A fitted policy that steers one container at a time; its state is an immutable value."""

    def begin(self, time: float) -> tuple[Any, float]:
        """The state of a container whose first sample is at `time` seconds, and its first allocation."""

    def advise(self, state: Any, last: Sample, time: float) -> tuple[Any, float]:
        """The new state, and the allocation for the sample at `time`, from the samples before it."""


def fold(adviser: Adviser, demand: Demand) -> Floats:
    """Allocations of a fleet, one sample after the other, shape (n,); NaN where unknown."""
    fleet = demand.fleet
    allocations = np.full(fleet.n_samples, nan)
    for begin, end in zip(fleet.offsets[:-1].tolist(), fleet.offsets[1:].tolist(), strict=True):
        state, allocations[begin] = adviser.begin(float(fleet.time[begin]))
        for t in range(begin + 1, end):
            state, allocations[t] = adviser.advise(state, sample_at(demand, t - 1), float(fleet.time[t]))
    return allocations


def sample_at(demand: Demand, t: int) -> Sample:
    """One sample of a demand."""
    fleet: Fleet = demand.fleet
    phase = -1 if fleet.labels is None else int(fleet.labels[t])
    code = None if fleet.codes is None else fleet.codes[t]
    return Sample(float(fleet.time[t]), float(demand.values[t]), float(fleet.seconds[t]), phase, code)


def cycle_number(time: float, start: float, length: float) -> int:
    """The number of the rescaling cycle at a time, counted from a container's first sample at `start`."""
    return floor((time - start) / length + _ROUNDING)


class CycleClock(NamedTuple):
    """The cycle of a running container, and how many seconds its allocation fell short."""

    #: The number of the cycle.
    number: int = 0
    #: Whether it is the container's first.
    is_cold: bool = True
    #: Seconds of under-allocation.
    short: float = 0.0
    #: All seconds.
    lasted: float = 0.0

    def after(self, number: int, seconds: float, is_short: bool) -> CycleClock:
        """Return the clock in cycle `number`, after a sample of `seconds` that fell short or not."""
        short = self.short + (seconds if is_short else 0.0)
        return CycleClock(number, self.is_cold and number == self.number, short, self.lasted + seconds)


@serializable
@dataclass(frozen=True)
class Completed:
    """Wraps a policy: the cold-start value where it has no allocation yet, and never below 0."""

    adviser: Adviser
    unknown: float

    def begin(self, time: float) -> tuple[Any, float]:
        """The wrapped policy's first allocation, or the cold-start value."""
        state, amount = self.adviser.begin(time)
        return state, self._complete(amount)

    def advise(self, state: Any, last: Sample, time: float) -> tuple[Any, float]:
        """The wrapped policy's allocation, or the cold-start value."""
        state, amount = self.adviser.advise(state, last, time)
        return state, self._complete(amount)

    def _complete(self, amount: float) -> float:
        return max(amount if isfinite(amount) else self.unknown, 0.0)


@serializable
@dataclass(frozen=True)
class Scaled:
    """Wraps a policy and scales its allocations by a factor."""

    adviser: Adviser
    factor: float

    def begin(self, time: float) -> tuple[Any, float]:
        """The wrapped policy's first allocation, scaled."""
        state, amount = self.adviser.begin(time)
        return state, self.factor * amount

    def advise(self, state: Any, last: Sample, time: float) -> tuple[Any, float]:
        """The wrapped policy's allocation, scaled."""
        state, amount = self.adviser.advise(state, last, time)
        return state, self.factor * amount
