"""The mapped columns of a file in the file's order, before they are cleaned.

Readers return a `RawTable`; `core.traces.cleaning` turns it into a trace set. Text columns are *coded*: each
distinct text once and an index per row, so that a million rows do not need a million strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A text column."""

    #: Shape (n_rows,): the position of each row's text in `names`; -1 where the cell is empty.
    codes: IntArray
    #: The distinct texts, in the order of their first appearance.
    names: tuple[str, ...]

    @classmethod
    def joined(cls, parts: Sequence[CodedColumn]) -> CodedColumn:
        """Join several columns to one: their texts with ``/`` between, without empty ones."""
        if len(parts) == 1:
            return parts[0]
        stacked = np.column_stack([part.codes for part in parts])
        unique, inverse = np.unique(stacked, axis=0, return_inverse=True)
        texts = [
            "/".join(part.names[code] for part, code in zip(parts, row, strict=True) if code >= 0)
            for row in unique
        ]
        code_of_text: dict[str, int] = {}
        codes = [code_of_text.setdefault(text, len(code_of_text)) if text else -1 for text in texts]
        return cls(np.array(codes, dtype=np.int32)[inverse.reshape(-1)], tuple(code_of_text))

    @classmethod
    def constant(cls, name: str, n_rows: int) -> CodedColumn:
        """Return a column with the same text in every row."""
        return cls(np.zeros(n_rows, dtype=np.int32), (name,))


@dataclass(frozen=True, slots=True)
class RawTable:
    """The mapped columns of a file."""

    #: Rows in this table.
    n_rows: int
    #: The executions' names.
    executions: CodedColumn
    #: Seconds, shape (n_rows,), NaN where missing; None where the file has no time.
    time: FloatArray | None
    #: One array of shape (n_rows,) per feature of the mapping, in the file's units.
    columns: tuple[FloatArray, ...]
    #: One column per attribute of the mapping.
    attributes: tuple[CodedColumn, ...] = ()
    #: Shape (n_rows,): each row's number in the file; None where it is `first_row` + position.
    rows: IntArray | None = None
    #: The number of the first row: 2 where the header is row 1.
    first_row: int = 2
    #: Rows of the file, including those dropped by the reader.
    rows_read: int = 0
    #: Problems found by the reader.
    problems: tuple[Problem, ...] = ()
    #: By column name, the positions of cells with a reported problem.
    flawed: Mapping[str, IntArray] = field(default_factory=dict)

    def row_of(self, position: int) -> int:
        """Return the number of a row in the file, as an editor shows it."""
        return int(self.rows[position]) if self.rows is not None else self.first_row + position
