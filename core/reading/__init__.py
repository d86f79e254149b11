"""Everything between a file of another tool and a trace set.

`formats` recognises a file by its start and reads it as a table of texts; `guessing` and `layouts` suggest
what each column is, and `questions` asks what they cannot tell; `cleaning` makes a checked trace set of the
mapped columns; `joining` brings several files together.
"""

from core.reading.inspection import ColumnInfo, Inspection
from core.reading.joined_files import group_files
from core.reading.readers import FirstPart, inspect_file, read_first_part, read_traces, read_with_report

__all__ = [
    "ColumnInfo",
    "FirstPart",
    "Inspection",
    "group_files",
    "inspect_file",
    "read_first_part",
    "read_traces",
    "read_with_report",
]
