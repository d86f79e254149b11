"""Any table with numbers, its columns guessed by name; asked last, because it nearly always answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.guessing import guess_mapping
from core.reading.tool_facts import Layout

if TYPE_CHECKING:
    from core.reading.mapping import ColumnMapping
    from core.reading.tool_facts import TableHead


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    return guess_mapping(head.header, head.rows)


LAYOUT = Layout(
    "generic",
    "columns guessed by name",
    recognise,
    example="when,cpu cores,mem MiB",
)
