"""Units: seconds, cores and bytes inside; what people write and read at the edges.

Inside PhaseDock time is in seconds, CPU in cores and memory in bytes. A quantity that cannot be
brought to these (a percentage of a machine of unknown size) is a `Unit.SHARE` between 0 and 1.
Percentages exist only where a file is read or a number is shown.

The browser formats numbers in the same way, to the last digit, in ``format.js``; both are tested on the
cases of ``tests/shared/format.json``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NewType

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Seconds = NewType("Seconds", float)
Cores = NewType("Cores", float)
Bytes = NewType("Bytes", float)

KIB, MIB, GIB, TIB, PIB = 1024.0, 1024.0**2, 1024.0**3, 1024.0**4, 1024.0**5
MINUS, DASH = "−", "–"


class Unit(StrEnum):
    """The canonical units, in which values are kept."""

    CORES = "cores"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes/s"
    WATTS = "watts"
    SHARE = "share"
    SECONDS = "seconds"
    PLAIN = "plain"


TIME_FACTORS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Seconds by the suffix of a unit of time."""
BINARY_FACTORS: Final = {"": 1.0, "b": 1.0, "k": KIB, "m": MIB, "g": GIB, "t": TIB}
"""Bytes by a single lower-case letter, as procps and systemd print them."""
DECIMAL_FACTORS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
"""Powers of 1000 by their lower-case letter, as Kubernetes and bit rates have them."""
# fmt: off
SUFFIX_FACTORS: Final[dict[Unit, dict[str, float]]] = {
    Unit.BYTES: {
        "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
        "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB, "pib": PIB,
        "ki": KIB, "mi": MIB, "gi": GIB, "ti": TIB, "pi": PIB,
    },
    Unit.CORES: {
        "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "core": 1.0, "cores": 1.0, "cpu": 1.0,
        "cpus": 1.0, "vcpu": 1.0, "vcpus": 1.0, "millicores": 1e-3, "mcores": 1e-3, "mcpu": 1e-3,
    },
    Unit.WATTS: {"mW": 1e-3, "W": 1.0, "kW": 1e3, "watt": 1.0, "watts": 1.0},
    Unit.SECONDS: TIME_FACTORS | {
        "µs": 1e-6, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "mins": 60.0, "minutes": 60.0, "hours": 3600.0,
    },
}
# fmt: on
"""Canonical value by the suffix behind a number, in lower case but for watts."""


@dataclass(frozen=True, slots=True)
class FileUnit:
    """A unit as used in files, and its conversion to the canonical one."""

    #: Its name in a mapping.
    key: str
    #: Its name for people.
    label: str
    #: The canonical unit after multiplication by `factor`.
    unit: Unit
    #: Canonical value = file value x factor.
    factor: float = 1.0
    #: True for a share of a whole machine: with its size known it becomes cores or bytes.
    of_machine: bool = False
    #: True for a counter that only grows: the usage is its increase per second.
    cumulative: bool = False


FILE_UNITS: dict[str, FileUnit] = {
    entry.key: entry
    for entry in (
        FileUnit("cores", "cores", Unit.CORES),
        FileUnit("millicores", "millicores", Unit.CORES, 1e-3),
        FileUnit("nanocores", "nanocores", Unit.CORES, 1e-9),
        FileUnit("percent_of_core", "% (100 is one core)", Unit.CORES, 1e-2),
        FileUnit("percent_of_machine", "% of the machine or limit", Unit.SHARE, 1e-2, of_machine=True),
        FileUnit("share_of_machine", "share of the machine or limit, 0 to 1", Unit.SHARE, of_machine=True),
        FileUnit("cpu_seconds_total", "CPU seconds so far", Unit.CORES, cumulative=True),
        FileUnit("cpu_ms_total", "CPU milliseconds so far", Unit.CORES, 1e-3, cumulative=True),
        FileUnit("cpu_us_total", "CPU microseconds so far", Unit.CORES, 1e-6, cumulative=True),
        FileUnit("cpu_nanoseconds_total", "CPU nanoseconds so far", Unit.CORES, 1e-9, cumulative=True),
        FileUnit("bytes", "bytes", Unit.BYTES),
        FileUnit("kib", "KiB", Unit.BYTES, KIB),
        FileUnit("mib", "MiB", Unit.BYTES, MIB),
        FileUnit("gib", "GiB", Unit.BYTES, GIB),
        FileUnit("tib", "TiB", Unit.BYTES, TIB),
        FileUnit("kb", "kB (1000)", Unit.BYTES, 1e3),
        FileUnit("mb", "MB (1000²)", Unit.BYTES, 1e6),
        FileUnit("gb", "GB (1000³)", Unit.BYTES, 1e9),
        FileUnit("tb", "TB (1000⁴)", Unit.BYTES, 1e12),
        FileUnit("percent", "%", Unit.SHARE, 1e-2),
        FileUnit("share", "share, 0 to 1", Unit.SHARE),
        FileUnit("watts", "W", Unit.WATTS),
        FileUnit("milliwatts", "mW", Unit.WATTS, 1e-3),
        FileUnit("bytes_per_s", "bytes per second", Unit.BYTES_PER_SECOND),
        FileUnit("kib_per_s", "KiB/s", Unit.BYTES_PER_SECOND, KIB),
        FileUnit("mib_per_s", "MiB/s", Unit.BYTES_PER_SECOND, MIB),
        FileUnit("gib_per_s", "GiB/s", Unit.BYTES_PER_SECOND, GIB),
        FileUnit("kb_per_s", "kB/s (1000)", Unit.BYTES_PER_SECOND, 1e3),
        FileUnit("mb_per_s", "MB/s (1000²)", Unit.BYTES_PER_SECOND, 1e6),
        FileUnit("gb_per_s", "GB/s (1000³)", Unit.BYTES_PER_SECOND, 1e9),
        FileUnit("bit_per_s", "bit/s", Unit.BYTES_PER_SECOND, 0.125),
        FileUnit("kbit_per_s", "kbit/s", Unit.BYTES_PER_SECOND, 125.0),
        FileUnit("mbit_per_s", "Mbit/s", Unit.BYTES_PER_SECOND, 125e3),
        FileUnit("gbit_per_s", "Gbit/s", Unit.BYTES_PER_SECOND, 125e6),
        FileUnit("bytes_total", "bytes so far", Unit.BYTES_PER_SECOND, cumulative=True),
        FileUnit("kib_total", "KiB so far", Unit.BYTES_PER_SECOND, KIB, cumulative=True),
        FileUnit("mib_total", "MiB so far", Unit.BYTES_PER_SECOND, MIB, cumulative=True),
        FileUnit("mb_total", "MB so far", Unit.BYTES_PER_SECOND, 1e6, cumulative=True),
        FileUnit("seconds", "seconds", Unit.SECONDS),
        FileUnit("plain", "as it is", Unit.PLAIN),
        FileUnit("written", "as each cell says", Unit.PLAIN),
    )
}


def file_unit(key: str) -> FileUnit:
    """Look up a file unit by its key.

    Raises InputError if there is no such unit; the hint lists those there are.
    """
    if key not in FILE_UNITS:
        raise InputError(f"“{key}” is not a unit.", f"Use one of: {', '.join(FILE_UNITS)}.")
    return FILE_UNITS[key]


def _sign(value: float) -> str:
    return MINUS if value < 0 else ""


def format_number(value: float, digits: int = 2) -> str:
    """Write a number with a true minus and thousands separated; no decimals from 100 on."""
    if not math.isfinite(value):
        return DASH
    size = abs(value)
    return f"{_sign(value)}{size:,.0f}" if size >= 100 else f"{_sign(value)}{size:.{digits}f}"


def format_count(value: float) -> str:
    """Write how many there are: ``98,284``."""
    return format_number(value, 0)


def format_cores(value: float) -> str:
    """Write cores: ``2.42 cores``."""
    return f"{format_number(value)} cores" if math.isfinite(value) else DASH


def format_bytes(value: float) -> str:
    """Write bytes as GiB, or as MiB and KiB below one of the larger: ``3.35 GiB``."""
    if not math.isfinite(value):
        return DASH
    size = abs(value)
    for limit, label in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= limit:
            return f"{format_number(value / limit)} {label}"
    return f"{_sign(value)}{size:.0f} B"


def format_rate(value: float) -> str:
    """Write bytes per second: ``3.35 MiB/s``."""
    return f"{format_bytes(value)}/s" if math.isfinite(value) else DASH


def format_watts(value: float) -> str:
    """Write power: ``250 W``."""
    return f"{format_number(value, 1)} W" if math.isfinite(value) else DASH


def format_duration(value: float) -> str:
    """Write seconds as people say them: ``45 s``, ``10 min 55 s``, ``1 h 05 min``."""
    if not math.isfinite(value):
        return DASH
    if abs(value) < 10 and value != round(value):
        return f"{_sign(value)}{abs(value):.1f} s"
    whole = round(abs(value))
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        text = f"{hours:,} h {minutes:02d} min"
    elif minutes:
        text = f"{minutes} min {seconds:02d} s"
    else:
        text = f"{seconds} s"
    return _sign(value) + text


def format_share(value: float, digits: int = 1) -> str:
    """Write a share between 0 and 1 as a percentage: ``28.1%``."""
    percent = abs(value) * 100
    return f"{_sign(value)}{percent:.{digits}f}%" if math.isfinite(percent) else DASH


def format_set_share(value: float) -> str:
    """Format a configured share with its own digits: ``5%``, ``2.5%``."""
    return f"{round(value * 100, 6):g}%"


def format_change(value: float, digits: int = 1) -> str:
    """Write a relative change, always with its sign unless it is written as zero: ``−24.8%``."""
    if float(f"{abs(value) * 100:.{digits}f}") == 0:
        return format_share(0.0, digits)
    return f"{'+' if 0 < value < math.inf else ''}{format_share(value, digits)}"


_WRITERS: dict[Unit, Callable[[float], str]] = {
    Unit.CORES: format_cores,
    Unit.BYTES: format_bytes,
    Unit.BYTES_PER_SECOND: format_rate,
    Unit.WATTS: format_watts,
    Unit.SHARE: format_share,
    Unit.SECONDS: format_duration,
    Unit.PLAIN: format_number,
}


def unit_writer(unit: Unit) -> Callable[[float], str]:
    """The function that writes values of a canonical unit for people."""
    return _WRITERS[unit]


def format_list(words: Sequence[str]) -> str:
    """Write words as a sentence lists them: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def format_value(value: float, unit: Unit) -> str:
    """Write a value of a canonical unit for people."""
    return _WRITERS[unit](value)


def phase_number(phase: int) -> int:
    """The number by which people know a phase: 1 for φ1, whose id is 0; 0 for warm-up."""
    return max(phase + 1, 0)


NO_NAMES: Mapping[int, str] = MappingProxyType({})
"""The names of phases by id where people gave none."""


def phase_name(phase: int, names: Mapping[int, str] = NO_NAMES) -> str:
    """A phase as people read it: φ1, or warm-up; with a given name φ1 validation."""
    return "warm-up" if phase < 0 else f"φ{phase_number(phase)} {names.get(phase, '')}".rstrip()


def phase_of(name: str) -> int:
    """The id of the phase that `phase_name` gives this name; −1 for warm-up."""
    return int(name[1:]) - 1 if name.startswith("φ") else -1


_PHASE = re.compile(r"φ(\d+)")


def with_phase_names(text: str, names: Mapping[int, str]) -> str:
    """A text with the name that people gave to a phase behind its number: ``φ3 (φ5 validation·φ1)×n``.

    What is stored goes by numbers, so that a name can change; texts are given the names when they are shown.
    """
    return _PHASE.sub(lambda found: phase_name(int(found[1]) - 1, names), text) if names else text


def plural(count: int, noun: str) -> str:
    """A count and its noun: ``1 row``, ``1,200 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
