"""The first part of a trace file, mapped as it would be imported: what a person sees before the import.

The part is read by the same readers as the whole; of several files that are joined, each is cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from core.store.cutting import cut, cut_all
from core.store.readers import read_with_report
from core.traces.evidence import Doubt, doubts

if TYPE_CHECKING:
    from os import PathLike

    from core.traces.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.validation import Report


@dataclass(frozen=True, slots=True)
class FirstPart:
    """The traces of a file's first part, what was wrong there, and what does not look like containers.

    `whole` is true where the part is the file.
    """

    traces: TraceSet
    report: Report
    doubts: tuple[Doubt, ...]
    whole: bool


def first_part(path: str | PathLike[str], mapping: ColumnMapping) -> FirstPart | None:
    """Read the first part of a file.

    Raises
    ------
    InputError
        As `core.store.readers.read_with_report` raises it.
    """
    where = Path(path)
    with TemporaryDirectory() as folder:
        target = Path(folder) / where.name
        part = cut_all(where, target) if where.is_dir() else cut(where, target)
        if part is None:
            return None
        traces, report = read_with_report(part, mapping)
        return FirstPart(traces, report, doubts(traces), part == where)
