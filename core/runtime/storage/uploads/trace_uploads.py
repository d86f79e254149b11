"""Uploads of trace files: looking into one, and handing it over to be ingested."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from core.runtime.storage.cache import ByteCache
from core.runtime.storage.repository import checked_name
from core.runtime.storage.uploads.chosen_mappings import ChosenMappings
from core.runtime.storage.uploads.store import Uploads
from core.store import belonging, first_part, inspect_file
from core.store.formats.register import suffixes, titles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.runtime.tasks.store import Tasks
    from core.store import FirstPart, Inspection
    from core.traces.mapping import ColumnMapping

_REMEMBERED = 32


def readable() -> str:
    """What can be uploaded, as a sentence lists it."""
    *most, last = titles()
    return f"{', '.join(most)} or {last}"


def readable_suffixes() -> tuple[str, ...]:
    """How names of files that can be uploaded usually end."""
    return suffixes()


class TraceUploads(Uploads):
    """Uploads that become trace sets.

    Parameters
    ----------
    folder, max_size
        As `Uploads` has them.
    tasks
        Where ingestion is submitted.
    """

    def __init__(self, folder: Path, max_size: int, tasks: Tasks) -> None:
        super().__init__(folder, max_size)
        self._tasks = tasks
        self._inspections: ByteCache[Inspection] = ByteCache(_REMEMBERED, lambda _: 1)
        self._first_parts: ByteCache[FirstPart | None] = ByteCache(_REMEMBERED, lambda _: 1)
        self._chosen = ChosenMappings(folder.parent / "chosen_mappings.json")

    def inspect(self, upload: str, as_written: bool = False) -> Inspection:
        """Look into a complete upload: its layout, columns, first rows, and a suggested mapping.

        Parameters
        ----------
        upload
            Its id.
        as_written
            Whether a table is looked at as it is written, even where it looks like one of series.

        Raises
        ------
        NotFoundError, ConflictError
            If it is not there, or not complete.
        InputError
            If it cannot be a trace file at all.
        """
        path = self.path(upload)
        return self._inspections.get(f"{upload} {as_written}", lambda: inspect_file(path, as_written))

    def join(self, uploads: Sequence[str]) -> tuple[list[str], list[str]]:
        """Gather those of some complete uploads that belong together, as far as their contents show.

        Returns
        -------
        tuple
            The ids of what there is now, gathered ones first; and why other files stand alone.

        Raises
        ------
        NotFoundError, ConflictError
            If one of them is not there, or not complete.
        """
        owner = {path: one for one in uploads for path in self.files(one)}
        groups, reasons = belonging(list(owner))
        found = [list(dict.fromkeys(owner[path] for path in group)) for group in groups]
        made = [self.gather(group) for group in found if len(group) > 1]
        return [*made, *(group[0] for group in found if len(group) == 1)], reasons

    def chosen_before(self, upload: str, as_written: bool = False) -> tuple[ColumnMapping, str] | None:
        """What was chosen for the last file with the same columns, and its name; None: nothing yet."""
        inspection = self.inspect(upload, as_written)
        found = self._chosen.get(inspection)
        names = [column.name for column in inspection.columns]
        return found if found is not None and set(found[0].columns) <= set(names) else None

    def first_part(self, upload: str, mapping: ColumnMapping) -> FirstPart | None:
        """The beginning of a complete upload as a mapping would import it; None where it cannot be cut.

        Raises
        ------
        NotFoundError, ConflictError
            If it is not there, or not complete.
        InputError
            If nothing of it can be used with this mapping.
        """
        path = self.path(upload)
        key = f"{upload} {json.dumps(mapping.to_dict(), sort_keys=True)}"
        return self._first_parts.get(key, lambda: first_part(path, mapping))

    def accept(self, upload: str, mapping: ColumnMapping | None, name: str, find_phases: bool = False) -> str:
        """Submit a complete upload for ingestion; returns the task's id.

        Parameters
        ----------
        upload
            Its id; the upload is removed when the trace set is stored.
        mapping
            What its columns are; None: as its layout is recognised.
        name
            The trace set's name for people.
        find_phases
            Whether the set's phases are to be found next.

        Raises
        ------
        InputError
            If the name is empty or the mapping names columns that the file does not have.
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
