"""Jobs and measured speeds from tables beside an experiment's file.

``jobs: {from: FILE, columns: …}`` becomes the same list of jobs as if they were written down, and its
``throughput`` that of their kinds; what the table does not say is said once under ``each``.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, TypeAlias

from core.errors import InputError, PhaseDockError
from core.experiments.parts import Containers
from core.experiments.reading.fields import listing, mapping, one, only, read
from core.experiments.reading.marked import Path, SpecError
from core.experiments.spec import Arm
from core.scheduling.policies import POLICIES
from core.settings_fields import FieldSpec, describe

if TYPE_CHECKING:
    from core.experiments.reading.marked import Path


_MOST_SEEDS = 10_000
_THREADS = next(spec for spec in describe(Containers) if spec.name == "threads")
_WATCH = FieldSpec("watch", "bool", False, "Only watch", "")
_SEED = FieldSpec("seeds", "int", 1, "Seed", "", low=0, high=2**31)
_COUNT = FieldSpec("seeds", "int", 30, "Number of seeds", "", low=1, high=_MOST_SEEDS)


def policies(value: Any) -> tuple[Arm, ...]:
    """The policies of an experiment, in order.

    Raises
    ------
    SpecError
        If one is not known, has invalid settings, or shares its label with another.
    """
    arms: dict[str, Arm] = {}
    for at, each in enumerate(listing(value or [], ("policies",), "policies")):
        arm = _arm({"policy": each} if isinstance(each, str) else each, ("policies", at))
        if arm.label in arms:
            raise SpecError(
                ("policies", at),
                f"There are two policies labelled “{arm.label}”.",
                "Give one of them another “label”.",
            )
        arms[arm.label] = arm
    if not arms:
        raise SpecError(("policies",), "The experiment has no policies.", f"Some are: {', '.join(POLICIES)}.")
    return tuple(arms.values())


def _arm(value: Any, path: Path) -> Arm:
    values = mapping(value, path, "A policy")
    only(values, ("policy", "label", "settings", "threads", "watch"), path, "A policy")
    name = str(values.get("policy", ""))
    if name not in POLICIES:
        where: Path = (*path, "policy") if "policy" in values else path
        raise SpecError(
            where, f"There is no policy called “{name}”.", f"Choose one of: {', '.join(POLICIES)}."
        )
    policy, where = POLICIES[name], (*path, "settings")
    given = mapping(values.get("settings") or {}, where, "settings")
    settings = read(policy.settings, given, where, f"{name}")
    try:
        policy.build_settings(settings)
    except PhaseDockError as error:
        raise SpecError(where, error.message, error.hint) from None
    threads = str(values.get("threads") or "")
    if threads:
        one(_THREADS, threads, (*path, "threads"))
    watch = bool(one(_WATCH, values.get("watch", False), (*path, "watch")))
    if watch and not policy.sees_use:
        raise SpecError(
            (*path, "watch"),
            f"{policy.name} decides when jobs run, so it cannot only watch.",
            f"Those that can: {', '.join(name for name in POLICIES if POLICIES[name].sees_use)}.",
        )
    return Arm(str(values.get("label") or name), name, settings, threads, watch)


def baseline(value: Any, arms: tuple[Arm, ...]) -> str:
    """The label of the policy that the others are compared with; the first where none is named.

    Raises
    ------
    SpecError
        If no policy has that label.
    """
    labels = [arm.label for arm in arms]
    if value is None:
        return labels[0]
    if value not in labels:
        raise SpecError(
            ("baseline",), f"No policy is labelled “{value}”.", f"Choose one of: {', '.join(labels)}."
        )
    return str(value)


def seeds(value: Any) -> tuple[int, ...]:
    """Seeds from their number, from ``{count, first}`` or from a list.

    Raises
    ------
    SpecError
        If there are none, too many, or one twice.
    """
    path: Path = ("seeds",)
    if isinstance(value, dict):
        only(value, ("count", "first"), path, "seeds")
        first = one(_SEED, value.get("first", 1), (*path, "first"))
        return tuple(range(first, first + one(_COUNT, value.get("count", 1), (*path, "count"))))
    if not isinstance(value, list):
        return tuple(range(1, 1 + one(_COUNT, value, path)))
    listed = tuple(one(_SEED, each, (*path, at)) for at, each in enumerate(value))
    if not listed or len(set(listed)) < len(listed):
        raise SpecError(path, "There are no seeds, or one of them appears twice.", "List each seed once.")
    return listed


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tables: TypeAlias = Callable[[str], str]

_JOB = (
    "id", "kind", "at", "due", "deadline", "slack", "request", "min", "max", "memory", "priority", "steps",
    "work", "demand",
)  # fmt: skip
_SPEED = ("kind", "cores", "speed")
_TEXT = ("id", "kind")
_MOST = 100_000
"""The most lines that a table may have."""


def with_tables(values: Mapping[str, Any], tables: Tables | None) -> dict[str, Any]:
    """The values of an experiment with what its tables hold written out.

    Raises
    ------
    SpecError
        If a table cannot be read; it names the file, the line and the column.
    """
    jobs = values.get("jobs")
    if not isinstance(jobs, dict):
        return dict(values)
    path: Path = ("jobs",)
    only(jobs, ("from", "columns", "throughput", "each"), path, "A table of jobs")
    rows = [_plain(row) for row in _rows(jobs, _JOB, ("id",), path, tables)]
    kinds = dict(mapping(values.get("kinds") or {}, ("kinds",), "kinds"))
    each = mapping(jobs.get("each") or {}, (*path, "each"), "each")
    for row in rows:
        if row.get("kind"):
            kinds.setdefault(str(row["kind"]), dict(each))
    if "throughput" in jobs:
        where = (*path, "throughput")
        table = mapping(jobs["throughput"], where, "throughput")
        only(table, ("from", "columns"), where, "A table of throughput")
        speeds: dict[str, list[list[float]]] = {}
        for row in _rows(table, _SPEED, _SPEED, where, tables):
            speeds.setdefault(str(row["kind"]), []).append([float(row["cores"]), float(row["speed"])])
        for name in [name for name in kinds if name in speeds]:
            kinds[name] = {**kinds[name], "throughput": sorted(speeds[name])}
    return {**values, "kinds": kinds, "jobs": rows}


def _rows(
    table: Mapping[str, Any],
    known: tuple[str, ...],
    needed: tuple[str, ...],
    path: Path,
    tables: Tables | None,
) -> Iterator[dict[str, Any]]:
    """The lines of a table as fields by their names here."""
    columns = mapping(table.get("columns") or {}, (*path, "columns"), "columns")
    only(columns, known, (*path, "columns"), "Such a table")
    for name in needed:
        if name not in columns:
            raise SpecError(
                (*path, "columns"), f"No column is given for “{name}”.", f"Write “{name}: …” under “columns”."
            )
    name = str(table.get("from") or "")
    if tables is None:
        raise SpecError(
            (*path, "from"),
            f"The table “{name}” cannot be read: tables are found only beside a file.",
            "Run the experiment with “phasedock simulate FILE”, or write its jobs down.",
        )
    try:
        yield from _read(csv.DictReader(tables(name).splitlines(keepends=True)), name, columns, path)
    except SpecError:
        raise
    except (InputError, csv.Error) as error:
        raise SpecError(
            (*path, "from"), f"The table “{name}” cannot be read: {error}", "Give a CSV file in UTF-8."
        ) from None


def _read(
    lines: csv.DictReader[str], name: str, columns: Mapping[str, Any], path: Path
) -> Iterator[dict[str, Any]]:
    there = list(lines.fieldnames or ())
    wanted = {field: each if isinstance(each, list) else [each] for field, each in columns.items()}
    for field, titles in wanted.items():
        for title in titles:
            if title not in there:
                raise SpecError(
                    (*path, "columns", field),
                    f"“{name}” has no column “{title}”.",
                    f"It has: {', '.join(there)}.",
                )
    for at, line in enumerate(lines, 2):
        if at > _MOST:
            raise SpecError((*path, "from"), f"“{name}” has more than {_MOST:,} lines.", "Give a part of it.")
        yield {
            field: " ".join(str(line[title]).strip() for title in titles)
            if field in _TEXT
            else _number(
                line[titles[0]], f"“{name}”, line {at}, column “{titles[0]}”", (*path, "columns", field)
            )
            for field, titles in wanted.items()
        }


def _number(text: str | None, where: str, path: Path) -> float | None:
    """A number, or None for an empty cell."""
    if text is None or not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise SpecError(path, f"{where}: “{text}” is no number.", "Correct it, or leave it empty.") from None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A job's fields without those that its line leaves empty; whole numbers as such."""
    whole = ("steps", "priority")
    return {
        name: int(value) if name in whole and float(value).is_integer() else value
        for name, value in row.items()
        if value is not None
    }
