"""The formats of trace files: one module each, one entry each in the register, told by their first bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import InputError, RefusedError
from core.registry import Registry
from core.store.formats import (
    bitbrains,
    cgtop,
    csv,
    docker_stats,
    dstat,
    json_lines,
    kubectl_top,
    long_table,
    nvidia_smi,
    parquet,
    prometheus_json,
    psrecord,
    spaced,
    sysstat,
    top,
    wide_table,
)
from core.store.formats.base import Beginning, foreign
from core.store.formats.split_time import with_whole_times
from core.store.formats.unread import unread

if TYPE_CHECKING:
    from pathlib import Path

    from core.store.formats.base import Format, Source

FORMATS: Registry[Format] = Registry("format")
for _formats in (
    parquet.FORMATS,
    sysstat.FORMATS,
    top.FORMATS,
    docker_stats.FORMATS,
    kubectl_top.FORMATS,
    cgtop.FORMATS,
    psrecord.FORMATS,
    nvidia_smi.FORMATS,
    json_lines.FORMATS,
    spaced.FORMATS,
    prometheus_json.FORMATS,
    long_table.FORMATS,
    wide_table.FORMATS,
    dstat.FORMATS,
    bitbrains.FORMATS,
    csv.FORMATS,  # the last: any other text is taken for a table
):
    for _format in _formats:
        FORMATS.add(_format.name, _format)


_ANYTHING = ("spaced", "csv")
"""Formats that take whatever looks like a table, and so what a tool prints that is known to be none."""


def open_source(path: Path, as_written: bool = False) -> Source:
    """Look at the beginning of a file and choose its reader.

    Raises
    ------
    InputError
        If it is not there, empty, damaged, or nothing that holds traces.
    """
    beginning = Beginning(path)
    kind = foreign(beginning.magic)
    if kind is not None:
        raise InputError(f"“{path.name}” is {kind}, not a table.", f"Choose one of: {', '.join(titles())}.")
    found = next(
        entry
        for _, entry in FORMATS.items()
        if not (as_written and entry.turns) and entry.recognise(beginning)
    )
    if found.name in _ANYTHING and (known := unread(beginning)):
        raise known
    try:
        source = found.open(beginning)
    except RefusedError:
        raise
    except InputError as error:
        raise (unread(beginning) or error) from None
    return source if as_written else with_whole_times(source)


def titles() -> tuple[str, ...]:
    """What can be read, for people: the most general first, each once."""
    return tuple(dict.fromkeys(entry.title for _, entry in reversed(list(FORMATS.items()))))


def table() -> str:
    """The formats in Markdown, as the documentation shows them."""
    rows = [
        f"| {entry.title} | `{name}` | {', '.join(f'`{end}`' for end in entry.suffixes)} |"
        for name, entry in FORMATS.items()
    ]
    return "\n".join(["| format | name | usual endings |", "|---|---|---|", *rows])


def suffixes() -> tuple[str, ...]:
    """How names of files that can be read usually end."""
    return tuple(dict.fromkeys(end for _, entry in FORMATS.items() for end in entry.suffixes))
