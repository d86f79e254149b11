"""Reads an `Experiment` from YAML, JSON or form values; errors name their position.

`read_experiment` takes text and names the line; `from_dict` takes plain values and names the field.
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from core.errors import InputError, PhaseDockError
from core.experiments.parts import (
    MAY_BE_NONE,
    SPANS,
    Arrivals,
    Containers,
    DrawnJobs,
    JobKind,
    ListedJob,
    PublishedFigure,
    Span,
    WorkerGroup,
    World,
)
from core.experiments.spec import ENGINES, SIMULATED, VERSION, Arm, Experiment
from core.experiments.spec_values import (
    Path,
    SpecError,
    read_fields,
    read_marked,
    read_settings,
    read_span,
    read_value,
    refuse_unknown,
    require_list,
    require_mapping,
)
from core.scheduling.policies import POLICIES
from core.settings_fields import FieldSpec, describe
from core.simulation.arrivals import SPREADS, check_spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.experiments.spec_values import Path

    Tables: TypeAlias = Callable[[str], str]

MAX_WORKERS = 100_000
"""In all groups together: each has a name and a state of its own."""


def published(value: Any) -> tuple[PublishedFigure, ...]:
    """Read published figures; figures of policies that the experiment lacks are stored but not shown."""
    return tuple(
        _one(each, ("published", at))
        for at, each in enumerate(require_list(value, ("published",), "published"))
    )


def _one(value: Any, path: Path) -> PublishedFigure:
    figure = read_settings(
        PublishedFigure, require_mapping(value, path, "A published figure"), path, "A published figure"
    )
    if bool(figure.value) is not bool(figure.base) or bool(figure.value) is bool(figure.share):
        raise SpecError(
            path,
            "A published figure needs its value and its baseline, or its change.",
            "Write “value: 57.7, base: 84.7” or “share: -31.9%”.",
        )
    if figure.measure == "completion" and not figure.job:
        raise SpecError(path, "A published completion has no job.", "Write “job: …”.")
    return figure


def check_docker(
    workers: Sequence[WorkerGroup],
    kinds: Mapping[str, JobKind],
    jobs: Sequence[ListedJob],
    arms: Sequence[Arm],
) -> None:
    """Refuse what only a simulator can run."""
    for at, group in enumerate(workers):
        if group.cores != int(group.cores):
            raise SpecError(
                ("workers", at, "cores"),
                f"“{group.id}” has {group.cores:g} cores, but containers are pinned to whole processors.",
                "Give every machine a whole number of cores.",
            )
    for name, kind in kinds.items():
        if not kind.program.strip():
            raise SpecError(
                ("kinds", name),
                f"Jobs of kind “{name}” have no program to run in a container.",
                "Write “program: …”, the name of a training program and its options.",
            )
    for at, job in enumerate(jobs):
        if not job.kind:
            raise SpecError(
                ("jobs", at), f"Job “{job.id}” has no kind, so no program.", "Give it a kind with a program."
            )
    for at, arm in enumerate(arms):
        if POLICIES[arm.policy].oracle:
            raise SpecError(
                ("policies", at),
                f"“{arm.policy}” needs to know how much work is left, which no real engine can tell.",
                "Leave it out, or run the experiment in the simulator.",
            )


_FIELDS = (
    "version", "name", "about", "engine", "workers", "world", "kinds", "jobs", "drawn", "arrivals",
    "docker", "policies", "baseline", "seeds", "published",
)  # fmt: skip
_LOSS = FieldSpec("losses", "float", 0.0, "Loss", "")
_POSITIVE = FieldSpec("throughput", "float", 0.0, "Throughput", "", low=1e-9)
_TIME = FieldSpec("times", "float", 0.0, "Time of arrival", "", low=0.0, unit="s")


def read_experiment(text: str, tables: Tables | None = None) -> Experiment:
    """Read an experiment from YAML or JSON."""
    marked = read_marked(text)
    try:
        return from_dict(with_tables(marked.values, tables))
    except SpecError as error:
        raise marked.located(error) from None


def from_dict(values: Mapping[str, Any]) -> Experiment:
    """Make an experiment of plain values."""
    _check_head(values)
    workers = _workers(values.get("workers"))
    kinds = _kinds(values.get("kinds") or {})
    sampling = read_settings(
        DrawnJobs, require_mapping(values.get("drawn") or {}, ("drawn",), "drawn"), ("drawn",), "drawn"
    )
    jobs = _jobs(values.get("jobs") or [], kinds)
    if not jobs and not sampling.count:
        raise SpecError(
            (), "The experiment has no jobs.", "List some under “jobs”, or draw some with “drawn”."
        )
    resampled = sampling.draw == "jobs" and sampling.count > 0
    if resampled and not jobs:
        raise SpecError(("drawn",), "Jobs are drawn from a list that is empty.", "List some under “jobs”.")
    if sampling.count and not resampled and not any(kind.weight for kind in kinds.values()):
        raise SpecError(("drawn",), "Jobs are drawn, but there are no kinds.", "Describe some under “kinds”.")
    _refuse_demands(values, max(group.cores for group in workers), kinds, jobs)
    arms = policies(values.get("policies"))
    engine = str(values.get("engine", SIMULATED))
    if ENGINES[engine].real:
        check_docker(workers, kinds, jobs, arms)
    return Experiment(
        name=str(values["name"]),
        about=str(values.get("about") or ""),
        engine=engine,
        docker=read_settings(
            Containers,
            require_mapping(values.get("docker") or {}, ("docker",), "docker"),
            ("docker",),
            "docker",
        ),
        workers=workers,
        world=read_settings(
            World, require_mapping(values.get("world") or {}, ("world",), "world"), ("world",), "world"
        ),
        kinds=kinds,
        jobs=jobs,
        drawn=sampling,
        arrivals=_arrivals(
            values.get("arrivals") or {},
            sampling.count + (0 if resampled else len([job for job in jobs if job.at is None])),
        ),
        policies=arms,
        baseline=baseline(values.get("baseline"), arms),
        seeds=seeds(values.get("seeds", 1)),
        published=published(values.get("published") or []),
    )


def _check_head(values: Mapping[str, Any]) -> None:
    refuse_unknown(values, _FIELDS, (), "An experiment")
    if values.get("version") != VERSION or isinstance(values.get("version"), bool):
        raise SpecError(
            ("version",), f"The version is “{values.get('version')}”.", f"Write “version: {VERSION}”."
        )
    if not isinstance(values.get("name"), str) or not str(values["name"]).strip():
        raise SpecError(("name",), "The experiment has no name.", "Write “name: …”.")
    engine = values.get("engine", SIMULATED)
    if engine not in ENGINES:
        raise SpecError(
            ("engine",), f"Experiments cannot run on “{engine}”.", f"Choose one of: {', '.join(ENGINES)}."
        )


def _workers(value: Any) -> tuple[WorkerGroup, ...]:
    path: Path = ("workers",)
    if value is None:
        raise SpecError((), "The experiment has no workers.", "Write “workers: {count: 1, cores: 1}”.")
    groups = [(path, value)] if isinstance(value, dict) else [
        ((*path, at), each) for at, each in enumerate(require_list(value, path, "workers"))
    ]  # fmt: skip
    read: list[WorkerGroup] = []
    names: set[str] = set()
    for place, each in groups:
        group = read_settings(WorkerGroup, require_mapping(each, place, "A worker"), place, "A worker")
        if group.count + len(names) > MAX_WORKERS:
            raise SpecError(
                place,
                f"The experiment has more than {MAX_WORKERS:,} workers.",
                "Describe fewer, or larger ones.",
            )
        repeated = names & set(group.names)
        if repeated:
            raise SpecError(place, f"There are two workers “{min(repeated)}”.", "Give each its own id.")
        names |= set(group.names)
        read.append(group)
    if not read:
        raise SpecError(path, "The experiment has no workers.", "Write “workers: {count: 1, cores: 1}”.")
    return tuple(read)


def _kinds(value: Any) -> dict[str, JobKind]:
    kinds = require_mapping(value, ("kinds",), "kinds")
    return {
        name: _kind(require_mapping(each or {}, path, name), path)
        for name, each, path in _items(kinds, "kinds")
    }


def _items(values: Mapping[str, Any], *path: str) -> list[tuple[str, Any, Path]]:
    return [(name, each, (*path, name)) for name, each in values.items()]


def _kind(values: Mapping[str, Any], path: Path) -> JobKind:
    specs = {each.name: each for each in describe(JobKind)}
    nothing = [name for name in MAY_BE_NONE if name in values and values[name] is None]
    special = (*SPANS, *nothing, "losses", "throughput")
    plain_values = {name: each for name, each in values.items() if name not in special}
    fields: dict[str, Any] = read_fields(JobKind, plain_values, path, "A kind of job")
    for name in SPANS:
        if name in values and name not in nothing:
            fields[name] = read_span(specs[name], values[name], (*path, name))
    fields["throughput"] = _throughput(values.get("throughput") or [], path)
    kind = JobKind(**{**fields, **dict.fromkeys(nothing)}, losses=_losses(values.get("losses") or [], path))
    _refuse_terms(kind, path, path[-1])
    return kind


def _refuse_terms(asks: JobKind | ListedJob, path: Path, owner: object) -> None:
    """Refuse what cannot be: a request below the least or above the most that a job can have."""
    low, high = asks.min or 0.0, math.inf if asks.max is None else asks.max
    if low > high:
        raise SpecError(
            (*path, "min"),
            f"“{owner}” needs at least {low:g} cores and at most {high:g}.",
            "Swap them.",
        )
    if asks.request is not None and not low <= asks.request <= high:
        raise SpecError(
            (*path, "request"),
            f"“{owner}” asks for {asks.request:g} cores, and can have {_range(asks)}.",
            "Ask for as many as it can have.",
        )


def _range(asks: JobKind | ListedJob) -> str:
    if asks.max is None:
        return f"at least {asks.min:g}"
    return f"at most {asks.max:g}" if asks.min is None else f"{asks.min:g} to {asks.max:g}"


def _throughput(value: Any, path: Path) -> tuple[Span, ...]:
    place: Path = (*path, "throughput")
    points: list[Span] = []
    for at, pair in enumerate(require_list(value, place, "throughput")):
        if not isinstance(pair, list) or len(pair) != 2:
            raise SpecError(
                (*place, at),
                "A line of the throughput is not a pair.",
                "Write [cores, steps per second].",
            )
        cores, speed = (read_value(_POSITIVE, each, (*place, at)) for each in pair)
        if points and cores <= points[-1][0]:
            raise SpecError(
                (*place, at), f"{cores:g} cores come after {points[-1][0]:g}.", "Order them by cores."
            )
        points.append((cores, speed))
    return tuple(points)


def _losses(value: Any, path: Path) -> tuple[float, ...]:
    place: Path = (*path, "losses")
    losses = tuple(
        read_value(_LOSS, each, (*place, at)) for at, each in enumerate(require_list(value, place, "losses"))
    )
    if len(losses) == 1 or (losses and losses[0] <= losses[-1]):
        raise SpecError(
            place, "The recorded losses do not fall.", "Give at least two, the first above the last."
        )
    return losses


def _jobs(value: Any, kinds: Mapping[str, JobKind]) -> tuple[ListedJob, ...]:
    jobs_by_id: dict[str, ListedJob] = {}
    for at, each in enumerate(require_list(value, ("jobs",), "jobs")):
        path: Path = ("jobs", at)
        job = read_settings(ListedJob, require_mapping(each, path, "A job"), path, "A job")
        if not job.id:
            raise SpecError(path, "A job has no id.", "Write “id: …”.")
        if not job.kind and job.work is None:
            raise SpecError(path, f"Job “{job.id}” has no work and no kind.", "Write “work: …” or “kind: …”.")
        if job.id in jobs_by_id:
            raise SpecError((*path, "id"), f"There are two jobs “{job.id}”.", "Give each its own id.")
        if job.kind and job.kind not in kinds:
            raise SpecError(
                (*path, "kind"), f"There is no kind of job “{job.kind}”.", f"There are: {', '.join(kinds)}."
            )
        _refuse_terms(job, path, job.id)
        jobs_by_id[job.id] = job
    return tuple(jobs_by_id.values())


def _refuse_demands(
    values: Mapping[str, Any], max_cores: float, kinds: Mapping[str, JobKind], jobs: tuple[ListedJob, ...]
) -> None:
    demands: list[tuple[Path, str, float | None]] = [
        (("jobs", at, "demand"), f"Job “{job.id}”", job.demand) for at, job in enumerate(jobs)
    ]
    demands += [
        (("kinds", name, "demand"), f"“{name}”", kind.demand[1] if kind.demand else None)
        for name, kind in kinds.items()
    ]
    for path, owner, demand in demands:
        if demand is not None and demand > max_cores:
            raise SpecError(
                path,
                f"{owner} demands {demand:g} cores, but no worker has more than {max_cores:g}.",
                "Lower the demand, or give a worker more cores.",
            )
    sampling = require_mapping(values.get("drawn") or {}, ("drawn",), "drawn")
    prefix, count = str(sampling.get("id", DrawnJobs().id)), int(sampling.get("count", 0))
    clash = {f"{prefix}-{n + 1}" for n in range(count)} & {job.id for job in jobs}
    if clash:
        raise SpecError(
            ("drawn",),
            f"A drawn job would also be called “{min(clash)}”.",
            "Give drawn jobs another “id”.",
        )


def _arrivals(value: Any, n_jobs: int) -> Arrivals:
    values = dict(require_mapping(value, ("arrivals",), "arrivals"))
    times = require_list(values.pop("times", []), ("arrivals", "times"), "times")
    fields = read_fields(Arrivals, values, ("arrivals",), "arrivals")
    checked = tuple(read_value(_TIME, each, ("arrivals", "times", at)) for at, each in enumerate(times))
    if fields.get("by") == "list" and len(checked) < n_jobs:
        raise SpecError(
            ("arrivals", "times"),
            f"There are {len(checked)} times for {n_jobs} jobs.",
            "Give one time for each job that does not say when it comes.",
        )
    arrivals = Arrivals(**fields, times=checked)
    if arrivals.by == "normal" and not check_spread(arrivals.spacing, arrivals.spread):
        raise SpecError(
            ("arrivals", "spread" if "spread" in values else "spacing"),
            f"Gaps of {arrivals.spacing:g} s that vary by {arrivals.spread:g} s would often be below zero.",
            f"Give a spread of at most {arrivals.spacing / SPREADS:.4g} s.",
        )
    return arrivals


_MAX_SEEDS = 10_000
_THREADS = next(spec for spec in describe(Containers) if spec.name == "threads")
_WATCH = FieldSpec("watch", "bool", False, "Only watch", "")
_SEED = FieldSpec("seeds", "int", 1, "Seed", "", low=0, high=2**31)
_COUNT = FieldSpec("seeds", "int", 30, "Number of seeds", "", low=1, high=_MAX_SEEDS)


def policies(value: Any) -> tuple[Arm, ...]:
    """The policies of an experiment, in order."""
    arms: dict[str, Arm] = {}
    for at, each in enumerate(require_list(value or [], ("policies",), "policies")):
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
    values = require_mapping(value, path, "A policy")
    refuse_unknown(values, ("policy", "label", "settings", "threads", "watch"), path, "A policy")
    name = str(values.get("policy", ""))
    if name not in POLICIES:
        place: Path = (*path, "policy") if "policy" in values else path
        raise SpecError(
            place, f"There is no policy called “{name}”.", f"Choose one of: {', '.join(POLICIES)}."
        )
    policy, place = POLICIES[name], (*path, "settings")
    setting_values = require_mapping(values.get("settings") or {}, place, "settings")
    settings = read_fields(policy.settings, setting_values, place, f"{name}")
    try:
        policy.build_settings(settings)
    except PhaseDockError as error:
        raise SpecError(place, error.message, error.hint) from None
    threads = str(values.get("threads") or "")
    if threads:
        read_value(_THREADS, threads, (*path, "threads"))
    watch = bool(read_value(_WATCH, values.get("watch", False), (*path, "watch")))
    if watch and not policy.sees_use:
        raise SpecError(
            (*path, "watch"),
            f"{policy.name} decides when jobs run, so it cannot only watch.",
            f"Those that can: {', '.join(name for name in POLICIES if POLICIES[name].sees_use)}.",
        )
    return Arm(str(values.get("label") or name), name, settings, threads, watch)


def baseline(value: Any, arms: tuple[Arm, ...]) -> str:
    """The label of the policy that the others are compared with; the first where none is named."""
    labels = [arm.label for arm in arms]
    if value is None:
        return labels[0]
    if value not in labels:
        raise SpecError(
            ("baseline",), f"No policy is labelled “{value}”.", f"Choose one of: {', '.join(labels)}."
        )
    return str(value)


def seeds(value: Any) -> tuple[int, ...]:
    """Seeds from their number, from ``{count, first}`` or from a list."""
    path: Path = ("seeds",)
    if isinstance(value, dict):
        refuse_unknown(value, ("count", "first"), path, "seeds")
        first = read_value(_SEED, value.get("first", 1), (*path, "first"))
        return tuple(range(first, first + read_value(_COUNT, value.get("count", 1), (*path, "count"))))
    if not isinstance(value, list):
        return tuple(range(1, 1 + read_value(_COUNT, value, path)))
    listed = tuple(read_value(_SEED, each, (*path, at)) for at, each in enumerate(value))
    if not listed or len(set(listed)) < len(listed):
        raise SpecError(path, "There are no seeds, or one of them appears twice.", "List each seed once.")
    return listed


_JOB = (
    "id", "kind", "at", "due", "deadline", "slack", "request", "min", "max", "memory", "priority", "steps",
    "work", "demand",
)  # fmt: skip
_SPEED = ("kind", "cores", "speed")
_TEXT = ("id", "kind")
_MAX_LINES = 100_000
"""The most lines that a table may have."""


def with_tables(values: Mapping[str, Any], tables: Tables | None) -> dict[str, Any]:
    """The values of an experiment with what its tables hold written out."""
    jobs = values.get("jobs")
    if not isinstance(jobs, dict):
        return dict(values)
    path: Path = ("jobs",)
    refuse_unknown(jobs, ("from", "columns", "throughput", "each"), path, "A table of jobs")
    rows = [_plain(row) for row in _rows(jobs, _JOB, ("id",), path, tables)]
    kinds = dict(require_mapping(values.get("kinds") or {}, ("kinds",), "kinds"))
    each = require_mapping(jobs.get("each") or {}, (*path, "each"), "each")
    for row in rows:
        if row.get("kind"):
            kinds.setdefault(str(row["kind"]), dict(each))
    if "throughput" in jobs:
        place = (*path, "throughput")
        table = require_mapping(jobs["throughput"], place, "throughput")
        refuse_unknown(table, ("from", "columns"), place, "A table of throughput")
        speeds: dict[str, list[list[float]]] = {}
        for row in _rows(table, _SPEED, _SPEED, place, tables):
            speeds.setdefault(str(row["kind"]), []).append([float(row["cores"]), float(row["speed"])])
        for name in [name for name in kinds if name in speeds]:
            kinds[name] = {**kinds[name], "throughput": sorted(speeds[name])}
    return {**values, "kinds": kinds, "jobs": rows}


def _rows(
    table: Mapping[str, Any],
    allowed: tuple[str, ...],
    needed: tuple[str, ...],
    path: Path,
    tables: Tables | None,
) -> Iterator[dict[str, Any]]:
    """The lines of a table as fields by their names here."""
    columns = require_mapping(table.get("columns") or {}, (*path, "columns"), "columns")
    refuse_unknown(columns, allowed, (*path, "columns"), "Such a table")
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
    titles_of_table = list(lines.fieldnames or ())
    titles_by_field = {field: each if isinstance(each, list) else [each] for field, each in columns.items()}
    for field, titles in titles_by_field.items():
        for title in titles:
            if title not in titles_of_table:
                raise SpecError(
                    (*path, "columns", field),
                    f"“{name}” has no column “{title}”.",
                    f"It has: {', '.join(titles_of_table)}.",
                )
    for at, line in enumerate(lines, 2):
        if at > _MAX_LINES:
            raise SpecError(
                (*path, "from"), f"“{name}” has more than {_MAX_LINES:,} lines.", "Give a part of it."
            )
        yield {
            field: " ".join(str(line[title]).strip() for title in titles)
            if field in _TEXT
            else _number(
                line[titles[0]], f"“{name}”, line {at}, column “{titles[0]}”", (*path, "columns", field)
            )
            for field, titles in titles_by_field.items()
        }


def _number(text: str | None, cell: str, path: Path) -> float | None:
    """A number, or None for an empty cell."""
    if text is None or not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise SpecError(
            path, f"{cell}: “{text}” is not a number.", "Correct it, or leave it empty."
        ) from None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A job's fields without those that its line leaves empty; whole numbers as such."""
    whole_numbers = ("steps", "priority")
    return {
        name: int(value) if name in whole_numbers and float(value).is_integer() else value
        for name, value in row.items()
        if value is not None
    }
