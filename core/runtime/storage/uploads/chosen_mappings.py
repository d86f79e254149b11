"""What people chose for files, offered again for the next file of the same shape.

A shape is the layout and the columns' names. The choices are one small JSON file, replaced as a whole.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from core.errors import InputError
from core.runtime.storage.files import disk_errors, write_atomically
from core.traces.mapping import ColumnMapping

if TYPE_CHECKING:
    from pathlib import Path

    from core.store import Inspection

_MOST = 200


class ChosenMappings:
    """The mappings that were chosen, by the shape of their files.

    Parameters
    ----------
    path
        The file that keeps them; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, inspection: Inspection) -> tuple[ColumnMapping, str] | None:
        """The mapping that was chosen last for a file of this shape, and that file's name; None: none was."""
        found = self._all().get(_shape(inspection))
        if not isinstance(found, dict):
            return None
        try:
            return ColumnMapping.from_dict(found["mapping"]), str(found["file"])
        except (InputError, KeyError, TypeError):
            return None  # written by another version: the file is asked about as if it were the first

    def keep(self, inspection: Inspection, mapping: ColumnMapping, file_name: str) -> None:
        """Remember a choice, if it is another one than what was suggested."""
        known, shape = self._all(), _shape(inspection)
        if mapping == inspection.mapping and shape not in known:
            return
        known.pop(shape, None)
        known[shape] = {"mapping": mapping.to_dict(), "file": file_name}
        newest = dict(list(known.items())[-_MOST:])
        with disk_errors("the chosen columns"):
            write_atomically(self._path, json.dumps(newest).encode())

    def _all(self) -> dict[str, object]:
        try:
            found = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _shape(inspection: Inspection) -> str:
    names = [inspection.layout, *(column.name for column in inspection.columns)]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()
