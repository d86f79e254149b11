"""The register of the formats of trace files, which are recognised by their first bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.errors import InputError, RefusedError
from core.reading.formats import (
    bitbrains,
    csv,
    docker,
    json_lines,
    kubernetes,
    long_table,
    nvidia_smi,
    parquet,
    process_logs,
    prometheus,
    spaced,
    sysstat,
    top,
    wide_table,
)
from core.reading.formats.base import FileStart, find_foreign_kind
from core.reading.formats.split_time import join_split_times
from core.reading.formats.unread import find_unsupported
from core.registry import Registry

if TYPE_CHECKING:
    from pathlib import Path

    from core.reading.formats.base import Format, Source

FORMATS: Registry[Format] = Registry("format")
for _formats in (
    parquet.FORMATS,
    sysstat.FORMATS,
    top.FORMATS,
    docker.FORMATS,
    kubernetes.FORMATS,
    process_logs.FORMATS,
    nvidia_smi.FORMATS,
    json_lines.FORMATS,
    spaced.FORMATS,
    prometheus.FORMATS,
    long_table.FORMATS,
    wide_table.FORMATS,
    bitbrains.FORMATS,
    csv.FORMATS,  # the last: any other text is taken for a table
):
    for _format in _formats:
        FORMATS.add(_format.name, _format)


_CATCH_ALL = ("spaced", "csv")
"""Formats that accept any table, and so outputs of tools that are known to be unsupported."""


def open_source(path: Path, as_written: bool = False) -> Source:
    """Open a file with the reader of its format, recognised by its beginning.

    Raises InputError if it does not exist, is empty, damaged or of an unsupported format.
    """
    start = FileStart(path)
    kind = find_foreign_kind(start.magic)
    if kind is not None:
        raise InputError(
            f"“{path.name}” is {kind}, not a table.", f"Choose one of: {', '.join(list_titles())}."
        )
    format_ = next(
        entry
        for _, entry in FORMATS.items()
        if not (as_written and entry.is_pivoted) and entry.recognises(start)
    )
    if format_.name in _CATCH_ALL:
        if unsupported := find_unsupported(start):
            raise unsupported
        start, format_ = _find_below_text(start, format_) or (start, format_)
    try:
        source = format_.open(start)
    except RefusedError:
        raise
    except InputError as error:
        raise (find_unsupported(start) or error) from None
    return source if as_written else join_split_times(source)


MAX_PREAMBLE = 20
"""The number of lines above a tool's output that are looked at."""
_SEPARATORS = re.compile(r"[,;|\t]")


def _find_below_text(start: FileStart, other: Format) -> tuple[FileStart, Format] | None:
    """Find another tool's output below lines of text, such as the command that printed it, or None."""
    for skip, line in enumerate(start.lines[:MAX_PREAMBLE], start=1):
        if len(_SEPARATORS.findall(line)) > 1:
            return None  # a row of a table, whose header would be lost
        if not "".join(start.lines[skip : skip + 1]).strip():
            continue
        below = FileStart(start.path, skip)
        for format_ in FORMATS.values():
            if format_.is_of_tool and format_ is not other and format_.recognises(below):
                return below, format_
    return None


def list_titles() -> tuple[str, ...]:
    """List the titles of all formats, the most general first, each once."""
    return tuple(dict.fromkeys(entry.title for _, entry in reversed(list(FORMATS.items()))))


def list_suffixes() -> tuple[str, ...]:
    """List the usual endings of the names of readable files."""
    return tuple(dict.fromkeys(end for _, entry in FORMATS.items() for end in entry.suffixes))
