"""Writes format.json: what core/units writes of many values, which assets/js/format.js has to write, too.

Run ``python -m tests.shared.make_format_cases`` after core/units has changed on purpose. A case is
``[function, arguments, text]``; NaN and the infinities, which JSON lacks, are their names.
"""

import json
import math
import random
from itertools import chain
from pathlib import Path

from core import units
from core.units import GIB, KIB, MIB, Unit

FILE = Path(__file__).with_name("format.json")
WRITERS = {
    "number": units.format_number,
    "cores": units.format_cores,
    "bytes": units.format_bytes,
    "rate": units.format_rate,
    "watts": units.format_watts,
    "duration": units.format_duration,
    "share": units.format_share,
    "change": units.format_change,
    "value": units.format_value,
}
NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
EDGES = [
    0.0,
    5e-324,
    1e-9,
    0.001,
    1.0,
    1 / 3,
    math.pi,
    2.0**52 + 0.5,
    2.0**53,
    1e15,
    1e21,
    1e22,
    1.5e300,
    1.7e308,
]
TIES = [
    0.05,
    0.125,
    0.25,
    0.375,
    0.5,
    1.005,
    1.5,
    2.5,
    2.675,
    9.25,
    9.95,
    99.125,
    100.5,
    101.5,
    1234.5,
    1235.5,
]
LIMITS = [1.0, 10.0, 60.0, 99.995, 100.0, 999.5, 1000.0, 3600.0, 86400.0, 3.6e6, KIB, MIB, GIB, 1024 * GIB]
SHARES = [0.0005, 0.00125, 0.0625, 0.2815, 0.28125, 0.9995, 0.99949]


def _values():
    """Edges, ties, both neighbours of every limit, and some of every size."""
    near = (
        neighbour
        for limit in LIMITS
        for neighbour in (limit, math.nextafter(limit, 0), math.nextafter(limit, math.inf), limit - 0.5)
    )
    chance = random.Random(0)
    some = (chance.choice((1, 2.5, 0.125)) * round(10 ** chance.uniform(-4, 14), 3) for _ in range(60))
    sizes = dict.fromkeys(chain(EDGES, TIES, near, SHARES, some))
    return [*sizes, *(-size for size in sizes), *NAMED.values()]


def _calls():
    for value in _values():
        for name in ("number", "cores", "bytes", "rate", "watts", "duration", "share", "change"):
            yield name, [value]
    for value in (*TIES, *SHARES, -0.125, -2.5, 1e22, math.nan):
        for digits in (0, 1, 3):
            for name in ("number", "share", "change"):
                yield name, [value, digits]
    for unit in Unit:
        for value in (0.0, 2.5, -75.0, 3.6e9, math.nan):
            yield "value", [value, unit.value]


def _by_name(argument):
    """NaN and infinities by their names."""
    if isinstance(argument, float) and not math.isfinite(argument):
        return next(name for name, value in NAMED.items() if repr(value) == repr(argument))
    return argument


def text():
    """The whole file."""
    cases = [[name, [_by_name(each) for each in given], WRITERS[name](*given)] for name, given in _calls()]
    return "[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
