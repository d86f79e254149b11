"""Previews: the first parts of files, and which files belong together.

A text file is cut after whole lines, a Parquet file after some rows, so that the part is a valid file; JSON
that cannot be cut is used whole while it is small.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError
from core.progress_reporting import silent
from core.reading.cleaning import build_recorded_set
from core.reading.formats.base import PARQUET, read_head, read_magic
from core.reading.inspection import inspect_single_file, read_single_file
from core.reading.joining import FilePart, NotJoinedError, join_files, strip_endings, strip_metric
from core.reading.mapping import UNKNOWN, ColumnMapping
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.reading.inspection import Inspection
    from core.reading.joining import JoinedFiles
    from core.traces.model import FloatArray, TraceSet
    from core.traces.validation import Report


PART_BYTES = 2 * 2**20
PART_ROWS = 40_000
MAX_JSON = 32 * 2**20


def cut_file(path: Path, target: Path) -> Path | None:
    """Write the first part of a file; return its path, the file itself if it is small, None if uncuttable.

    Raises InputError if it cannot be read.
    """
    if read_magic(path).startswith(PARQUET):
        return _cut_parquet(path, target)
    data = read_head(path, PART_BYTES)
    if len(data) < PART_BYTES:
        return path
    json = data.lstrip()[:1] in (b"{", b"[")
    if json and b"\n{" not in data:
        return path if path.stat().st_size <= MAX_JSON else None
    end = data.rfind(b"\n{" if json else b"\n")
    target.write_bytes(data[: end + 1] if end > 0 else data)
    return target


def _cut_parquet(path: Path, target: Path) -> Path:
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows <= PART_ROWS:
            return path
        batch = next(file.iter_batches(PART_ROWS))
    pq.write_table(pa.Table.from_batches([batch]), target)
    return target


def cut_folder(folder: Path, target: Path) -> Path | None:
    """Write the first part of every file of a folder; return the folder itself if all are small."""
    target.mkdir()
    for path in sorted(folder.iterdir()):
        part = cut_file(path, target / path.name)
        if part is None:
            return None
        if part == path:
            (target / path.name).symlink_to(path)
    return folder if all(one.is_symlink() for one in target.iterdir()) else target


EXECUTION, TIME = "execution", "timestamp"
"""The names of the columns of execution and time in joined files."""


@dataclass(frozen=True, slots=True)
class FilePreview:
    """The first part of a file, read; `whole` if the part is the file."""

    path: Path
    inspection: Inspection
    mapping: ColumnMapping
    traces: TraceSet
    report: Report
    whole: bool

    @property
    def is_unnamed(self) -> bool:
        """Whether the file has no column of executions."""
        return self.mapping.execution is None

    def part(self, names: Mapping[str, str]) -> FilePart:
        """Return the first part for a join, its features renamed."""
        return make_file_part(self.path.name, self.traces, self.report, names, self.is_unnamed)


def make_file_part(
    file: str, traces: TraceSet, report: Report, names: Mapping[str, str], is_unnamed: bool
) -> FilePart:
    """Return the samples of a file for a join, their features renamed."""
    features = tuple(replace(one, name=names.get(one.name, one.name)) for one in traces.features)
    ids = (name_execution(file),) if is_unnamed else traces.ids
    starts_counter = report.count("counter_start") > 0
    return FilePart(file, replace(traces, features=features, ids=ids), is_unnamed, starts_counter)


def name_execution(file: str) -> str:
    """Return the name of the execution of a file without a column of executions."""
    return strip_endings(file)


def preview_file(path: Path, whole_file: bool = False, order: str = "mdy") -> FilePreview:
    """Read the first part of a file for a join.

    Raises
    ------
    InputError
        Naming the file, if it cannot be read or has no times.
    """
    try:
        inspection = inspect_single_file(path)
        mapping = _require_time(inspection)
        with TemporaryDirectory() as folder:
            first = None if whole_file else cut_file(path, Path(folder) / path.name)
            traces, report = read_single_file(
                first or path, _assume_open_units(mapping, order), silent, build_recorded_set
            )
    except InputError as error:
        raise name_file_in_error(path, error) from error
    return FilePreview(path, inspection, mapping, traces, report, first in (None, path))


def _require_time(inspection: Inspection) -> ColumnMapping:
    """Return the mapping of a file with numbers and times; raise for any other."""
    if inspection.mapping is None:
        reasons_by_names = next((one for one in inspection.problems if one.kind == "ambiguous_number"), None)
        if reasons_by_names is not None:
            raise InputError(reasons_by_names.message, reasons_by_names.hint)
        raise InputError("None of its columns contains numbers.", inspection.reasons[-1])
    if inspection.mapping.time is None:
        raise InputError(
            "It has no time column, and files are joined by execution and time.",
            "Import it alone, or add a time column.",
        )
    return inspection.mapping


def name_file_in_error(path: Path, error: InputError) -> InputError:
    """Return the error with the name of its file."""
    is_named = path.name in error.message
    return InputError(error.message if is_named else f"{path.name}: {error.message}", error.hint)


def _assume_open_units(mapping: ColumnMapping, order: str) -> ColumnMapping:
    """Return the mapping with assumed units for those still in question, so that it can be read."""
    features = tuple(
        replace(one, unit_key="plain") if one.unit_key == UNKNOWN else one for one in mapping.features
    )
    unit = order if mapping.time_unit == UNKNOWN else mapping.time_unit
    return replace(mapping, features=features, time_unit=unit, min_samples=1)


def name_features(previews: Sequence[FilePreview]) -> list[dict[str, str]]:
    """Return the features' names in the join, by their names in each file."""
    distinguished = {
        column
        for a, b in combinations(previews, 2)
        for column in _columns_of_other_role(a) & _columns_of_other_role(b)
        if _one_container(a, b) and not _columns_of_known_role(a) & _columns_of_known_role(b)
    }
    stems = [strip_endings(one.path.name) for one in previews]
    labels = stems if len(set(stems)) == len(stems) else [one.path.name for one in previews]
    return [
        {
            name: f"{name} ({label})" if name in distinguished or name in (EXECUTION, TIME) else name
            for name in _columns(one)
        }
        for one, label in zip(previews, labels, strict=True)
    ]


def _columns(one: FilePreview) -> list[str]:
    return [feature.column for feature in one.mapping.features]


def _columns_of_other_role(one: FilePreview) -> set[str]:
    """Return the columns without a known role."""
    return {feature.column for feature in one.mapping.features if feature.role is Role.OTHER}


def _columns_of_known_role(one: FilePreview) -> set[str]:
    return {feature.column for feature in one.mapping.features if feature.role is not Role.OTHER}


def _one_container(a: FilePreview, b: FilePreview) -> bool:
    """Whether the first parts of two files measure one container at the same time."""
    if a.is_unnamed and b.is_unnamed:
        return strip_metric(a.path.name) == strip_metric(b.path.name)
    shared = set(a.traces.ids) & set(b.traces.ids)
    return any(_overlap(a.traces.execution(name).time, b.traces.execution(name).time) for name in shared)


def _overlap(a: FloatArray, b: FloatArray) -> bool:
    return bool(a[0] <= b[-1] and b[0] <= a[-1])


def join_previews(previews: Sequence[FilePreview]) -> JoinedFiles:
    """Join the first parts; if they do not match, retry with the day first, then with whole files.

    Raises NotJoinedError if the files do not belong together.
    """
    try:
        return _join_parts(previews)
    except NotJoinedError:
        has_open_times = any(one.mapping.time_unit == UNKNOWN for one in previews)
        if not has_open_times and all(one.whole for one in previews):
            raise
    if has_open_times:
        with suppress(NotJoinedError):
            return _join_parts(
                [_preview_whole(one, one.mapping.time_unit != UNKNOWN, "dmy") for one in previews]
            )
    return _join_parts([_preview_whole(one, one.whole, "mdy") for one in previews])


def _preview_whole(one: FilePreview, is_unchanged: bool, order: str) -> FilePreview:
    return one if is_unchanged else preview_file(one.path, not one.whole, order)


def _join_parts(previews: Sequence[FilePreview]) -> JoinedFiles:
    return join_files([one.part(names) for one, names in zip(previews, name_features(previews), strict=True)])


def group_files(paths: Sequence[Path]) -> tuple[list[list[Path]], list[str]]:
    """Group files that belong together by their contents; also return why others do not."""
    groups: list[list[FilePreview]] = []
    unreadable: list[list[Path]] = []
    reasons: list[str] = []
    for path in paths:
        try:
            groups.append([preview_file(path)])
        except InputError as error:
            unreadable.append([path])
            reasons.append(f"{error.message} {error.hint}")
    has_merged = True
    while has_merged:
        has_merged, groups, reasons_by_names = _merge_first_two(groups)
    ungrouped = {one[0].path.name for one in groups if len(one) == 1}
    reasons += (
        [sentence for names, sentence in reasons_by_names.items() if names & ungrouped]
        if len(groups) > 1
        else []
    )
    return [[one.path for one in group] for group in groups] + unreadable, list(dict.fromkeys(reasons))


def _merge_first_two(
    groups: list[list[FilePreview]],
) -> tuple[bool, list[list[FilePreview]], dict[frozenset[str], str]]:
    """Merge the first two groups that belong together; also return why others do not."""
    reasons_by_names: dict[frozenset[str], str] = {}
    for i, first in enumerate(groups):
        for j in range(i + 1, len(groups)):
            try:
                join_previews([*first, *groups[j]])
            except NotJoinedError as error:
                reasons_by_names[frozenset(one.path.name for one in (*first, *groups[j]))] = (
                    f"{error.message} {error.hint}"
                )
            else:
                remaining = [group for k, group in enumerate(groups) if k not in (i, j)]
                return True, [[*first, *groups[j]], *remaining], {}
    return False, groups, reasons_by_names
