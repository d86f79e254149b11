"""The first part of a file, cut so that it is a whole file again.

A text file is cut after whole lines, a Parquet file after some rows; what cannot be cut (JSON) is taken whole
while it is small.
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
from core.store.formats.base import PARQUET, magic, read_head
from core.store.inspection import inspect_one, read_one
from core.traces.cleaning import record
from core.traces.joining import NotJoinedError, Part, join
from core.traces.joining.stacks import bare, stem
from core.traces.mapping import UNKNOWN, ColumnMapping
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.store.inspection import Inspection
    from core.traces.joining import Joined
    from core.traces.model import FloatArray, TraceSet
    from core.traces.validation import Report


PART_BYTES = 2 * 2**20
PART_ROWS = 40_000
MOST_JSON = 32 * 2**20


def cut(path: Path, target: Path) -> Path | None:
    """The first part of a file.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if magic(path).startswith(PARQUET):
        return _cut_parquet(path, target)
    data = read_head(path, PART_BYTES)
    if len(data) < PART_BYTES:
        return path
    json = data.lstrip()[:1] in (b"{", b"[")
    if json and b"\n{" not in data:
        return path if path.stat().st_size <= MOST_JSON else None
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


def cut_all(folder: Path, target: Path) -> Path | None:
    """A folder with the first part of every file; the folder itself where all are small (see `cut`)."""
    target.mkdir()
    for path in sorted(folder.iterdir()):
        part = cut(path, target / path.name)
        if part is None:
            return None
        if part == path:
            (target / path.name).symlink_to(path)
    return folder if all(one.is_symlink() for one in target.iterdir()) else target


EXECUTION, TIME = "execution", "timestamp"
"""What the columns of execution and time are called in files that are joined."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the first part of a file shows; `whole` where the part is the file."""

    path: Path
    inspection: Inspection
    mapping: ColumnMapping
    traces: TraceSet
    report: Report
    whole: bool

    @property
    def unnamed(self) -> bool:
        """Whether the file names no execution."""
        return self.mapping.execution is None

    def part(self, names: Mapping[str, str]) -> Part:
        """The first part as a part of a join, its columns called as they are in all files."""
        return part_of_join(self.path.name, self.traces, self.report, names, self.unnamed)


def part_of_join(
    file: str, traces: TraceSet, report: Report, names: Mapping[str, str], unnamed: bool
) -> Part:
    """What was read of a file, its columns called as they are in all files."""
    features = tuple(replace(one, name=names.get(one.name, one.name)) for one in traces.features)
    ids = (file_execution(file),) if unnamed else traces.ids
    counted = report.count("counter_start") > 0
    return Part(file, replace(traces, features=features, ids=ids), unnamed, counted)


def file_execution(file: str) -> str:
    """What the execution of a file that names none is called."""
    return stem(file)


def look(path: Path, all_of_it: bool = False, order: str = "mdy") -> Look:
    """Look into a file that is to be joined.

    Raises
    ------
    InputError
        Naming the file, if it cannot be read or has no times.
    """
    try:
        inspection = inspect_one(path)
        mapping = _timed(inspection)
        with TemporaryDirectory() as folder:
            first = None if all_of_it else cut(path, Path(folder) / path.name)
            traces, report = read_one(first or path, _to_look_at(mapping, order), None, record)
    except InputError as error:
        raise of_file(path, error) from error
    return Look(path, inspection, mapping, traces, report, first in (None, path))


def _timed(inspection: Inspection) -> ColumnMapping:
    """The mapping of a file that has numbers and times."""
    if inspection.mapping is None:
        why = next((one for one in inspection.problems if one.kind == "ambiguous_number"), None)
        if why is not None:
            raise InputError(why.message, why.hint)
        raise InputError("None of its columns contains numbers.", inspection.reasons[-1])
    if inspection.mapping.time is None:
        raise InputError(
            "It has no column of times, and files are joined by execution and time.",
            "Import it alone, or write it with times.",
        )
    return inspection.mapping


def of_file(path: Path, error: InputError) -> InputError:
    """An error that says in which of several files it is."""
    named = path.name in error.message
    return InputError(error.message if named else f"{path.name}: {error.message}", error.hint)


def _to_look_at(mapping: ColumnMapping, order: str) -> ColumnMapping:
    """A mapping that can be read although a person has not answered its questions yet."""
    features = tuple(
        replace(one, unit_key="plain") if one.unit_key == UNKNOWN else one for one in mapping.features
    )
    unit = order if mapping.time_unit == UNKNOWN else mapping.time_unit
    return replace(mapping, features=features, time_unit=unit, min_samples=1)


def names_of(looks: Sequence[Look]) -> list[dict[str, str]]:
    """What the features of each file are called in all of them."""
    apart = {
        column
        for a, b in combinations(looks, 2)
        for column in _nameless(a) & _nameless(b)
        if _one_container(a, b) and not _known(a) & _known(b)
    }
    stems = [stem(one.path.name) for one in looks]
    labels = stems if len(set(stems)) == len(stems) else [one.path.name for one in looks]
    return [
        {
            name: f"{name} ({label})" if name in apart or name in (EXECUTION, TIME) else name
            for name in _columns(one)
        }
        for one, label in zip(looks, labels, strict=True)
    ]


def _columns(one: Look) -> list[str]:
    return [feature.column for feature in one.mapping.features]


def _nameless(one: Look) -> set[str]:
    """The columns of which only their names are known."""
    return {feature.column for feature in one.mapping.features if feature.role is Role.OTHER}


def _known(one: Look) -> set[str]:
    return {feature.column for feature in one.mapping.features if feature.role is not Role.OTHER}


def _one_container(a: Look, b: Look) -> bool:
    """Whether two files are of one container at one time, as far as their first parts show."""
    if a.unnamed and b.unnamed:
        return bare(a.path.name) == bare(b.path.name)
    shared = set(a.traces.ids) & set(b.traces.ids)
    return any(_overlap(a.traces.execution(name).time, b.traces.execution(name).time) for name in shared)


def _overlap(a: FloatArray, b: FloatArray) -> bool:
    return bool(a[0] <= b[-1] and b[0] <= a[-1])


def tried(looks: Sequence[Look]) -> Joined:
    """The first parts joined; where these do not match, with the day first, and then the whole files.

    Raises
    ------
    NotJoinedError
        If the files do not belong together.
    """
    try:
        return _join(looks)
    except NotJoinedError:
        asked = any(one.mapping.time_unit == UNKNOWN for one in looks)
        if not asked and all(one.whole for one in looks):
            raise
    if asked:
        with suppress(NotJoinedError):
            return _join([_again(one, one.mapping.time_unit != UNKNOWN, "dmy") for one in looks])
    return _join([_again(one, one.whole, "mdy") for one in looks])


def _again(one: Look, kept: bool, order: str) -> Look:
    return one if kept else look(one.path, not one.whole, order)


def _join(looks: Sequence[Look]) -> Joined:
    return join([one.part(names) for one, names in zip(looks, names_of(looks), strict=True)])


def group_files(paths: Sequence[Path]) -> tuple[list[list[Path]], list[str]]:
    """Which of some files belong together, as far as their contents show."""
    groups: list[list[Look]] = []
    alone: list[list[Path]] = []
    reasons: list[str] = []
    for path in paths:
        try:
            groups.append([look(path)])
        except InputError as error:
            alone.append([path])
            reasons.append(f"{error.message} {error.hint}")
    merged = True
    while merged:
        merged, groups, why = _merged(groups)
    single = {one[0].path.name for one in groups if len(one) == 1}
    reasons += [sentence for names, sentence in why.items() if names & single] if len(groups) > 1 else []
    return [[one.path for one in group] for group in groups] + alone, list(dict.fromkeys(reasons))


def _merged(groups: list[list[Look]]) -> tuple[bool, list[list[Look]], dict[frozenset[str], str]]:
    """Merge the first two groups that belong together; also why others do not."""
    why: dict[frozenset[str], str] = {}
    for i, first in enumerate(groups):
        for j in range(i + 1, len(groups)):
            try:
                tried([*first, *groups[j]])
            except NotJoinedError as error:
                why[frozenset(one.path.name for one in (*first, *groups[j]))] = (
                    f"{error.message} {error.hint}"
                )
            else:
                rest = [group for k, group in enumerate(groups) if k not in (i, j)]
                return True, [[*first, *groups[j]], *rest], {}
    return False, groups, why
