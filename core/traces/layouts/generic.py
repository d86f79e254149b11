"""Any table with numbers, its columns guessed by name; asked last, because it nearly always answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing import guess
from core.traces.layouts.base import Layout

if TYPE_CHECKING:
    from core.traces.layouts.base import Head
    from core.traces.mapping import ColumnMapping


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    return guess(head.header, head.rows)


LAYOUT = Layout(
    "generic",
    "columns guessed by name",
    recognise,
    example="when,cpu cores,mem MiB",
)
