"""Several files in a folder that are read as one: joined by execution and time (see `core.reading.joining`).

Each file is recognised by itself. Together they look like one table with the columns ``execution``,
``timestamp``, and those of all files; a mapping of that table is taken apart again for reading.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from core.errors import InputError, format_names
from core.progress_reporting import scale_progress, silent
from core.reading.cleaning import build_recorded_set, finish_trace_set, require_usable, resample_set
from core.reading.dates import CLOCK, MINUTES
from core.reading.inspection import (
    JOINED,
    PREVIEW_ROWS,
    ColumnInfo,
    Inspection,
    cut_file,
    inspect_single_file,
    read_single_file,
)
from core.reading.joining import (
    FilePart,
    JoinedFiles,
    NotJoinedError,
    join_files,
    strip_endings,
    strip_metric,
)
from core.reading.mapping import INTERVAL, UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import ROLE_NAMES, Resampling, Role
from core.traces.validation import Problem, ProblemLog, Report, problem
from core.units import TIME_FACTORS, Unit, format_duration, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from core.progress_reporting import Progress
    from core.traces.model import TraceSet

MAX_FILES = 200
EXECUTION, TIME = "execution", "timestamp"
"""The names of the columns of execution and time in joined files."""


def list_files(folder: Path) -> tuple[Path, ...]:
    """List the files of a folder by name.

    Raises InputError if there is none, or more than `MAX_FILES`.
    """
    files = tuple(sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith(".")))
    if not files:
        raise InputError(
            f"“{folder.name}” is a folder without files.", "Choose a file, or a folder of files."
        )
    if len(files) > MAX_FILES:
        raise InputError(
            f"“{folder.name}” has {len(files):,} files; at most {MAX_FILES} are joined.",
            "Put their rows into fewer files.",
        )
    return files


@dataclass(frozen=True, slots=True)
class FilePreview:
    """The first part of a file, read; `whole` if the part is the file."""

    path: Path
    inspection: Inspection
    mapping: ColumnMapping
    traces: TraceSet
    whole: bool

    def columns(self, *, known: bool) -> set[str]:
        """Return the features that have a role, or those that have none."""
        return {one.column for one in self.mapping.features if (one.role is not Role.OTHER) is known}


def preview_file(path: Path, whole_file: bool = False, order: str = "mdy") -> FilePreview:
    """Read the first part of a file for a join.

    Raises InputError, naming the file, if it cannot be read or has no times.
    """
    with _named_errors(path), TemporaryDirectory() as folder:
        inspection = inspect_single_file(path)
        mapping = _require_time(inspection)
        first = None if whole_file else cut_file(path, Path(folder) / path.name)
        # units in question are assumed, so that the part can be read
        features = tuple(
            replace(one, unit_key="plain") if one.unit_key == UNKNOWN else one for one in mapping.features
        )
        unit = order if mapping.time_unit == UNKNOWN else mapping.time_unit
        readable = replace(mapping, features=features, time_unit=unit, min_samples=1)
        traces, _ = read_single_file(first or path, readable, silent, build_recorded_set)
    return FilePreview(path, inspection, mapping, traces, first in (None, path))


def _require_time(inspection: Inspection) -> ColumnMapping:
    """Return the mapping of a file with numbers and times; raise for any other."""
    if inspection.mapping is None:
        ambiguous = next((one for one in inspection.problems if one.kind == "ambiguous_number"), None)
        if ambiguous is not None:
            raise InputError(ambiguous.message, ambiguous.hint)
        raise InputError("None of its columns contains numbers.", inspection.reasons[-1])
    if inspection.mapping.time is None:
        raise InputError(
            "It has no time column, and files are joined by execution and time.",
            "Import it alone, or add a time column.",
        )
    return inspection.mapping


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if path.name in error.message:
            raise
        raise InputError(f"{path.name}: {error.message}", error.hint) from error


def _make_part(path: Path, traces: TraceSet, names: Mapping[str, str], mapping: ColumnMapping) -> FilePart:
    """Return the samples of a file for a join, their features renamed."""
    features = tuple(replace(one, name=names.get(one.name, one.name)) for one in traces.features)
    is_unnamed = mapping.execution is None
    ids = (strip_endings(path.name),) if is_unnamed else traces.ids
    return FilePart(path.name, replace(traces, features=features, ids=ids), is_unnamed)


def _name_features(previews: Sequence[FilePreview]) -> list[dict[str, str]]:
    """Return the features' names in the join, by their names in each file.

    A column without a role, such as ``value``, that two files have of one container is named by its file.
    """
    distinguished = {
        column
        for a, b in combinations(previews, 2)
        for column in a.columns(known=False) & b.columns(known=False)
        if _measure_one_container(a, b) and not a.columns(known=True) & b.columns(known=True)
    }
    stems = [strip_endings(one.path.name) for one in previews]
    labels = stems if len(set(stems)) == len(stems) else [one.path.name for one in previews]
    return [
        {
            column.column: f"{column.column} ({label})"
            if column.column in distinguished or column.column in (EXECUTION, TIME)
            else column.column
            for column in one.mapping.features
        }
        for one, label in zip(previews, labels, strict=True)
    ]


def _measure_one_container(a: FilePreview, b: FilePreview) -> bool:
    """Whether the first parts of two files measure one container at the same time."""
    if a.mapping.execution is None and b.mapping.execution is None:
        return strip_metric(a.path.name) == strip_metric(b.path.name)
    times = [
        (a.traces.execution(name).time, b.traces.execution(name).time)
        for name in set(a.traces.ids) & set(b.traces.ids)
    ]
    return any(one[0] <= other[-1] and other[0] <= one[-1] for one, other in times)


def _join_previews(previews: Sequence[FilePreview]) -> JoinedFiles:
    """Join the first parts; if they do not match, retry with the day first, then with whole files.

    Raises NotJoinedError if the files do not belong together.
    """
    has_open_times = any(one.mapping.time_unit == UNKNOWN for one in previews)
    if has_open_times or not all(one.whole for one in previews):
        with suppress(NotJoinedError):
            return _join_parts(previews)
        if has_open_times:
            with suppress(NotJoinedError):
                return _join_parts(
                    [
                        preview_file(one.path, one.whole, "dmy") if one.mapping.time_unit == UNKNOWN else one
                        for one in previews
                    ]
                )
    return _join_parts([one if one.whole else preview_file(one.path, whole_file=True) for one in previews])


def _join_parts(previews: Sequence[FilePreview]) -> JoinedFiles:
    names = _name_features(previews)
    return join_files(
        [_make_part(one.path, one.traces, of, one.mapping) for one, of in zip(previews, names, strict=True)]
    )


def group_files(paths: Sequence[Path]) -> tuple[list[list[Path]], list[str]]:
    """Group files that can be joined; also return why others cannot."""
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
        has_merged, failures = False, dict[frozenset[str], str]()
        for first, second in combinations(groups, 2):
            try:
                _join_previews([*first, *second])
            except NotJoinedError as error:
                names = frozenset(one.path.name for one in (*first, *second))
                failures[names] = f"{error.message} {error.hint}"
            else:
                groups = [[*first, *second], *(one for one in groups if one not in (first, second))]
                has_merged = True
                break
    alone = {one[0].path.name for one in groups if len(one) == 1}
    reasons += [sentence for names, sentence in failures.items() if names & alone]
    return [[one.path for one in group] for group in groups] + unreadable, list(dict.fromkeys(reasons))


def inspect_folder(folder: Path) -> Inspection:
    """Inspect the beginnings of the files of a folder as one joined table.

    Raises InputError if a file cannot be read, or the files do not belong together.
    """
    previews = [preview_file(path) for path in list_files(folder)]
    joined, names = _join_previews(previews), _name_features(previews)
    mapping = _suggest_mapping(previews, names)
    sizes = [one.inspection.n_rows for one in previews]
    return Inspection(
        layout=JOINED,
        label=f"{len(previews)} files joined by execution and time",
        mapping=mapping,
        reasons=("", *_list_reasons(previews, joined)),
        columns=_list_columns(previews, names, joined.traces),
        rows_preview=_format_rows(joined.traces, mapping),
        size=sum(one.inspection.size for one in previews),
        n_rows=None if None in sizes else sum(size or 0 for size in sizes),
        problems=tuple(
            found for one in previews for found in _prefix_file(one.path.name, one.inspection.problems)
        ),
        questions=tuple(
            replace(
                question,
                column=TIME if question.time else renamed.get(question.column, question.column),
                sentence=f"{one.path.name}: {question.sentence}",
                candidates=tuple(renamed.get(name, name) for name in question.candidates),
            )
            for one, renamed in zip(previews, names, strict=True)
            for question in one.inspection.questions
        ),
    )


def _suggest_mapping(previews: Sequence[FilePreview], names: Sequence[Mapping[str, str]]) -> ColumnMapping:
    """Suggest the mapping of the joined table; the first file's CPU and memory keep their roles."""
    features: dict[str, MappedColumn] = {}
    assumed = list[str]()
    mappings = [one.mapping for one in previews]
    for mapping, renamed in zip(mappings, names, strict=True):
        assumed += [TIME] if mapping.time in mapping.assumed else []
        assumed += [renamed[name] for name in mapping.assumed if name in renamed]
        for mapped in mapping.features:
            taken = {feature.role for feature in features.values()} & {Role.CPU, Role.MEMORY}
            role = Role.OTHER if mapped.role in taken else mapped.role
            name = renamed[mapped.column]
            features.setdefault(name, MappedColumn(name, role, mapped.unit_key))
    attributes = dict.fromkeys(name for one in mappings for name in one.attributes)
    as_recorded = all(one.resampling is Resampling.NONE for one in mappings)
    return ColumnMapping(
        features=tuple(features.values()),
        execution=EXECUTION,
        time=TIME,
        time_unit=_find_time_unit(mappings),
        resampling=Resampling.NONE if as_recorded else Resampling.HOLD,
        attributes=tuple(name for name in attributes if name not in (*features, EXECUTION, TIME)),
        assumed=tuple(dict.fromkeys(assumed)),
    )


def _find_time_unit(mappings: Sequence[ColumnMapping]) -> str:
    """Return the unit of time to edit: the unknown one, else the first file's."""
    units = [one.time_unit for one in mappings]
    return UNKNOWN if UNKNOWN in units else units[0]


def _list_reasons(previews: Sequence[FilePreview], joined: JoinedFiles) -> list[str]:
    """List the columns of each file and how the files were matched."""
    reasons = []
    for one in previews:
        roles = [ROLE_NAMES[f.role] for f in one.mapping.features if f.role in (Role.CPU, Role.MEMORY)]
        others = len(one.mapping.features) - len(roles)
        parts = roles + ([plural(others, "further column")] if others else [])
        reasons.append(f"{one.path.name}: {' and '.join(parts)}.")
    reasons += [one.message for one in joined.problems if one.kind in ("named_by_files", "goes_on")]
    return reasons if len(reasons) <= 8 else [*reasons[:6], f"… and {len(reasons) - 6} more."]


def _list_columns(
    previews: Sequence[FilePreview], names: Sequence[Mapping[str, str]], traces: TraceSet
) -> tuple[ColumnInfo, ...]:
    columns = {EXECUTION: ColumnInfo(EXECUTION, "text", traces.ids[:3]), TIME: ColumnInfo(TIME, "time", ())}
    for one, renamed in zip(previews, names, strict=True):
        for column in one.inspection.columns:
            if column.name in renamed or column.name in one.mapping.attributes:
                name = renamed.get(column.name, column.name)
                columns.setdefault(name, replace(column, name=name))
    return tuple(columns.values())


def _format_rows(traces: TraceSet, mapping: ColumnMapping) -> tuple[tuple[str, ...], ...]:
    """Return the first joined rows in the order of the columns, with units."""
    rows = []
    for i in range(min(PREVIEW_ROWS, traces.n_samples)):
        owner = int((traces.offsets[1:] <= i).sum())
        values = {
            feature.name: _format_cell(float(column[i]), feature.unit)
            for feature, column in zip(traces.features, traces.columns, strict=True)
        }
        values |= {key: texts[owner] for key, texts in traces.attributes.items()}
        names = (*(one.column for one in mapping.features), *mapping.attributes)
        seconds = float(traces.time[i])
        time = (
            datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
            if 1e8 < seconds < 1e11
            else format_duration(seconds)
        )
        rows.append((traces.ids[owner], time, *(values.get(name, "") for name in names)))
    return tuple(rows)


def _format_cell(value: float, unit: Unit) -> str:
    return f"{value:.10g}" if unit is Unit.PLAIN else format_value(value, unit)


def _prefix_file(file: str, problems: Sequence[Problem]) -> list[Problem]:
    """Return problems with the name of their file."""
    return [replace(one, message=f"{file}: {one.message}") for one in problems]


def read_folder(folder: Path, mapping: ColumnMapping | None, progress: Progress) -> tuple[TraceSet, Report]:
    """Read files and join them by execution and time.

    Raises InputError if a file cannot be read, or the files do not belong together; UnusableError if no
    execution remains; its report says why.
    """
    paths, log = list_files(folder), ProblemLog()
    mapping = mapping or _require_mapping(inspect_folder(folder).mapping)
    if set(mapping.unknown) - {INTERVAL}:  # joined files always have times
        mapping.require(mapping.columns)
    parts, rows_read, problems = list[FilePart](), 0, list[Problem]()
    clocks: dict[str, list[str]] = {}
    split = _split_mapping(paths, mapping)
    for i, (path, (own, names, inspection)) in enumerate(split.items()):
        with _named_errors(path):
            step = scale_progress(progress, 0.9 * i / len(split), 0.9 * (i + 1) / len(split))
            traces, report = read_single_file(path, own, step, build_recorded_set)
        parts.append(_make_part(path, traces, names, own))
        rows_read += report.rows_read
        problems += _prefix_file(path.name, report.problems)
        clocks.setdefault(_find_clock(own, inspection, float(traces.time.min())), []).append(path.name)
    problems += [
        problem("file_unused", f"{path.name} was not read: none of its columns is in the mapping.")
        for path in paths
        if path not in split
    ]
    recorded = sum(part.traces.n_samples for part in parts)
    if mapping.period is not None and mapping.resampling is not Resampling.NONE:
        parts = [replace(part, traces=resample_set(part.traces, mapping, log)) for part in parts]
    joined = join_files(parts)
    samples = sum(part.traces.n_samples for part in parts)
    traces, n_kept = finish_trace_set(joined.traces, mapping, log)
    problems += [*joined.problems, *(_doubt_clocks(clocks) if joined.weight > 1 else ()), *log.problems]
    rows_kept = min(round(n_kept * joined.weight * recorded / samples), recorded)
    report = Report(tuple(problems), rows_read, rows_kept, traces.n_executions)
    require_usable(traces.n_executions > 0, log, rows_read)
    return traces, report


def _require_mapping(mapping: ColumnMapping | None) -> ColumnMapping:
    if mapping is None:
        raise InputError("None of the files contains numbers.", "Choose files that hold measurements.")
    return mapping


def _split_mapping(
    paths: Sequence[Path], mapping: ColumnMapping
) -> dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]]:
    """Split the mapping by file: each file's mapping, its columns' names in the join, its inspection."""
    inspections = {path: inspect_single_file(path) for path in paths}
    suggestions = {path: _require_mapping(one.mapping) for path, one in inspections.items()}
    common_unit = _find_time_unit(list(suggestions.values()))
    split: dict[Path, tuple[ColumnMapping, dict[str, str], Inspection]] = {}
    all_names = {EXECUTION, TIME}
    for path, suggestion in suggestions.items():
        header = [column.name for column in inspections[path].columns]
        names = _rename_columns(header, path, mapping)
        all_names |= {*names.values(), *header}
        features = tuple(
            replace(one, column=name)
            for one in mapping.features
            for name, joined_name in names.items()
            if joined_name == one.column
        )
        if features:
            follows_common = suggestion.time_unit in (UNKNOWN, common_unit)
            own = replace(
                suggestion,
                features=features,
                execution=suggestion.execution if mapping.execution else None,
                execution_parts=suggestion.execution_parts if mapping.execution else (),
                time_unit=mapping.time_unit if follows_common else suggestion.time_unit,
                attributes=tuple(name for name in mapping.attributes if name in header),
                cores=mapping.cores,
                memory_bytes=mapping.memory_bytes,
                min_samples=1,
                max_gap=mapping.max_gap,
                assumed=(),
            )
            split[path] = (own, names, inspections[path])
    if mapping.execution not in (None, EXECUTION) or mapping.time != TIME or mapping.execution_parts:
        raise InputError(
            "Joined files use the columns of execution and time recognised in each file.",
            "Import a file alone to choose its columns of execution and time.",
        )
    if missing := [name for name in mapping.columns if name not in all_names]:
        raise InputError(f"None of the files has a column {format_names(missing)}.", "Change the mapping.")
    return split


def _rename_columns(header: Sequence[str], path: Path, mapping: ColumnMapping) -> dict[str, str]:
    """Return the names in the joined mapping of the columns of a file."""
    mapped = {one.column for one in mapping.features}
    names = {}
    for name in header:
        labelled = (f"{name} ({label})" for label in (strip_endings(path.name), path.name))
        joined_name = next((one for one in labelled if one in mapped), name)
        if joined_name in mapped:
            names[name] = joined_name
    return names


START, LOCAL, ZONED, EPOCH = "start", "local", "zoned", "epoch"
"""Kinds of clocks: times from a start, dates without a zone, dates with a zone, times from 1970."""
_ZONE = re.compile(r".*:\d\d.*?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)(?:\s*\((?:UTC|GMT)\))?(?:\s+\d{4})?")
MIN_EPOCH = 1e8
"""Smaller times in seconds count from a start, not from 1970."""


def _find_clock(mapping: ColumnMapping, inspection: Inspection, first: float) -> str:
    """Find the kind of clock of a file's times."""
    if mapping.time_unit in (*TIME_FACTORS, MINUTES):
        return START if first < MIN_EPOCH else EPOCH
    place = [column.name for column in inspection.columns].index(mapping.time or "")
    cells = (row[place].strip() for row in inspection.rows_preview if place < len(row))
    return ZONED if mapping.time_unit != CLOCK and any(map(_ZONE.fullmatch, cells)) else LOCAL


def _doubt_clocks(clocks: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Yield doubts about joined files with different kinds of clocks."""
    if from_start := clocks.get(START):
        names = format_names(from_start[:3])
        message = f"The times of {names} count from a start: is it the same moment in all files?"
        yield problem("own_starts", message, count=len(from_start))
    if (local := clocks.get(LOCAL)) and (zoned := clocks.get(ZONED)):
        message = f"{zoned[0]} names a time zone, and {local[0]} names none: is it the same?"
        yield problem("mixed_zones", message, count=len(local))
