"""Uploads of trace files: looking into one, and handing it over to be ingested."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from core.errors import InputError
from core.reading import group_files, inspect_file, read_first_part
from core.reading.formats.register import list_suffixes, list_titles
from core.reading.mapping import ColumnMapping
from core.workspace.cache import ByteCache
from core.workspace.files import disk_errors, write_atomically
from core.workspace.repository import checked_name
from core.workspace.uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.reading import FirstPart, Inspection
    from core.workspace.records import TaskQueue


_MAX_REMEMBERED = 200


# What people chose for files, offered again for the next file of the same shape.
#
# A shape is the layout and the columns' names. The choices are one small JSON file, replaced as a whole.


class ChosenMappings:
    """The mappings that were chosen, by the shape of their files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, inspection: Inspection) -> tuple[ColumnMapping, str] | None:
        """The mapping that was chosen last for a file of this shape, and that file's name; None: none was."""
        stored = self._all().get(_shape(inspection))
        if not isinstance(stored, dict):
            return None
        try:
            return ColumnMapping.from_dict(stored["mapping"]), str(stored["file"])
        except (InputError, KeyError, TypeError):
            return None  # written by another version: the file is asked about as if it were the first

    def keep(self, inspection: Inspection, mapping: ColumnMapping, file_name: str) -> None:
        """Remember a choice, if it differs from the suggestion."""
        remembered, shape = self._all(), _shape(inspection)
        if mapping == inspection.mapping and shape not in remembered:
            return
        remembered.pop(shape, None)
        remembered[shape] = {"mapping": mapping.to_dict(), "file": file_name}
        newest = dict(list(remembered.items())[-_MAX_REMEMBERED:])
        with disk_errors("the chosen columns"):
            write_atomically(self._path, json.dumps(newest).encode())

    def _all(self) -> dict[str, object]:
        try:
            stored = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _shape(inspection: Inspection) -> str:
    names = [inspection.layout, *(column.name for column in inspection.columns)]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


_REMEMBERED = 32


def readable() -> str:
    """The formats that can be uploaded, as a sentence lists them."""
    *first, last = list_titles()
    return f"{', '.join(first)} or {last}"


def readable_suffixes() -> tuple[str, ...]:
    """The usual suffixes of files that can be uploaded."""
    return list_suffixes()


class TraceUploads(Uploads):
    """Uploads that become trace sets."""

    def __init__(self, folder: Path, max_size: int, tasks: TaskQueue) -> None:
        super().__init__(folder, max_size)
        self._tasks = tasks
        self._inspections: ByteCache[Inspection] = ByteCache(_REMEMBERED, lambda _: 1)
        self._first_parts: ByteCache[FirstPart | None] = ByteCache(_REMEMBERED, lambda _: 1)
        self._chosen = ChosenMappings(folder.parent / "chosen_mappings.json")

    def inspect(self, upload: str, as_written: bool = False) -> Inspection:
        """Look into a complete upload: its layout, columns, first rows, and a suggested mapping.

        Raises NotFoundError or ConflictError if it is not there, or not complete; InputError if it cannot be
        a trace file at all.
        """
        path = self.path(upload)
        return self._inspections.get(f"{upload} {as_written}", lambda: inspect_file(path, as_written))

    def join(self, uploads: Sequence[str]) -> tuple[list[str], list[str]]:
        """Gather complete uploads that belong together, as far as their contents show.

        Raises NotFoundError or ConflictError if one of them is not there, or not complete.
        """
        owner = {path: one for one in uploads for path in self.files(one)}
        groups, reasons = group_files(list(owner))
        uploads_by_group = [list(dict.fromkeys(owner[path] for path in group)) for group in groups]
        gathered = [self.gather(group) for group in uploads_by_group if len(group) > 1]
        return [*gathered, *(group[0] for group in uploads_by_group if len(group) == 1)], reasons

    def chosen_before(self, upload: str, as_written: bool = False) -> tuple[ColumnMapping, str] | None:
        """The choice for the last file with the same columns, and its name; None if there is none."""
        inspection = self.inspect(upload, as_written)
        chosen = self._chosen.get(inspection)
        names = [column.name for column in inspection.columns]
        return chosen if chosen is not None and set(chosen[0].columns) <= set(names) else None

    def read_first_part(self, upload: str, mapping: ColumnMapping) -> FirstPart | None:
        """The beginning of a complete upload as a mapping would import it; None where it cannot be cut.

        Raises NotFoundError or ConflictError if it is not there, or not complete; InputError if nothing of it
        can be used with this mapping.
        """
        path = self.path(upload)
        key = f"{upload} {json.dumps(mapping.to_dict(), sort_keys=True)}"
        return self._first_parts.get(key, lambda: read_first_part(path, mapping))

    def accept(self, upload: str, mapping: ColumnMapping | None, name: str, find_phases: bool = False) -> str:
        """Submit a complete upload for ingestion; returns the task's id.

        Raises InputError if the name is empty or the mapping names columns that the file does not have.
        """
        name = checked_name(name, "trace set")
        inspection = self.inspect(upload, mapping is not None and mapping.as_written)
        if mapping is not None:
            mapping.require([column.name for column in inspection.columns])
            self._chosen.keep(inspection, mapping, self.get(upload).name)
        params = {
            "upload": upload,
            "mapping": None if mapping is None else mapping.to_dict(),
            "name": name,
            "layout": inspection.label,
            "find_phases": find_phases,
        }
        return self._tasks.submit("ingest", f"Import {self.get(upload).name}", params)
