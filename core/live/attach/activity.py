"""The latest actions and reasons of an attached policy, for the Live page."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import update

from core.engines.values import REPEATED
from core.errors import Cancelled, Interrupted
from core.experiments.outcome import Outcome
from core.experiments.series import Series
from core.live.view import LiveFiles, age, write_attached
from core.sampling.values import ActivityEntry, Mode
from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
)
from core.scheduling.model import at_most
from core.scheduling.policies.autopilot.steering_evidence import EvidenceBook
from core.units import format_bytes, format_cores
from core.workspace.database_schema import RunRow
from core.workspace.files import new_id
from core.workspace.ledgers import Ledgers
from core.workspace.records import NO_EXPERIMENT, RunState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from core.sampling.values import AttachedPolicy
    from core.scheduling.actions import Action
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job
    from core.scheduling.policies.autopilot.steering_evidence import Evidence
    from core.workspace.database import Database


MAX_CONTINUED = 100_000
"""Entries of a ledger that are read again before a policy goes on; that takes some minutes at most."""


class AttachedRun:
    """Writes a run while it proceeds; as a context manager, notes how it ended.

    A run of this id whose worker ended goes on, unless its ledger has more than `MAX_CONTINUED` entries.
    """

    def __init__(
        self,
        database: Database,
        run: str,
        name: str,
        engine: str,
        policy: str,
        settings: Mapping[str, Any],
        seed: int,
        task: str,
    ) -> None:
        self.id = run
        self._database = database
        self._ledgers = Ledgers(database)
        self._series, self._outcome = Series(), Outcome()
        new = RunRow(
            id=run,
            experiment=NO_EXPERIMENT,
            name=name,
            label=policy,
            policy=policy,
            settings=dict(settings),
            seed=seed,
            scenario=f"live {engine}"[:64],
            key=run,
            state=RunState.RUNNING,
            task=task,
            created=time.time(),
            entries=0,
            summary=None,
            jobs=None,
            containers={},
        )
        with database.write() as session:
            row = session.get(RunRow, run)
            goes_on = row is None or (
                row.state in (RunState.RUNNING, RunState.INTERRUPTED) and row.entries <= MAX_CONTINUED
            )
            if not goes_on:
                self.id = new.id = new.key = new_id()
                row = None
            if row is None:
                session.add(row := new)
            row.state, row.task, row.summary, row.jobs = RunState.RUNNING, task, None, None
            #: When it began, seconds since 1970, and how many entries it has already.
            self.since, self.entries = row.created, row.entries
            #: The jobs of its containers and submissions at its last entry, by their ids.
            self.containers: Mapping[str, str] = dict(row.containers or {})
        self._ledger = self._ledgers.writer(self.id, self.entries)

    def begin(self, since: float) -> None:
        """Note when the clock of a new run began, seconds since 1970."""
        self.since = since
        self._change(created=since)

    def earlier(self) -> Iterator[Entry]:
        """Yield the entries that it has already, and take them up again."""
        for entry in self._ledgers.entries(self.id):
            self._series.add(entry)
            self._outcome.add(entry)
            yield entry

    def add(self, entry: Entry, containers: Mapping[str, str]) -> None:
        """Take the next entry; it is on the disk when this returns.

        `containers` has the job of each container and submission, by its id.
        """
        if containers != self.containers:
            self.containers = dict(containers)
            self._change(containers=self.containers)
        self._ledger.add(entry)
        self._ledger.flush()
        self._series.add(entry)
        self._outcome.add(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledgers.keep_series(self.id, self._series.to_dict())
        plain = self._outcome.result().to_dict()
        jobs = list(plain.pop("jobs"))
        self._change(state=_end_state(error), summary=plain, jobs=jobs)

    def _change(self, **values: Any) -> None:
        with self._database.write() as session:
            session.execute(update(RunRow).where(RunRow.id == self.id).values(**values))


def _end_state(error: BaseException | None) -> RunState:
    match error:
        case None | Cancelled():
            return RunState.DONE
        case Interrupted():
            return RunState.INTERRUPTED
    return RunState.FAILED


MAX_POINTS = 240
"""Of a course; every second one is left out when there are more."""
_MAX_LISTED = 8

Point = tuple[float, float, float, float]


class EvidenceLog:
    """Takes the entries of a policy."""

    def __init__(self, since: float) -> None:
        self._book = EvidenceBook()
        self._started = since
        self._every, self._due = 1.0, 0.0
        self.evidence: Evidence | None = None
        self.course: list[Point] = []

    def take(self, entry: Entry) -> None:
        """Take the next entry."""
        self._book.add_entry(entry)
        evidence = self._book.evidence()
        if evidence is None:
            return
        first = evidence.containers[:_MAX_LISTED]
        remaining = [each for each in evidence.containers[_MAX_LISTED:] if each.left or each.unfamiliar]
        self.evidence = replace(evidence, containers=(*first, *remaining))
        elapsed = entry.observation.time
        if evidence.seconds > 0 and elapsed >= self._due:
            self.course.append(
                (
                    self._started + elapsed,
                    evidence.freed_cores_now,
                    evidence.freed_bytes_now,
                    evidence.short_share,
                )
            )
            self._due = elapsed + self._every
        if len(self.course) > MAX_POINTS:
            self.course = self.course[1::2]
            self._every *= 2


_MAX_ENTRIES = 50
_TOUCH_AFTER = 5.0
_VERBS: dict[type, tuple[str, str]] = {
    Start: ("Started", "Would start"),
    Refuse: ("Refused", "Would refuse"),
    SetMemory: ("Set its memory", "Would set its memory"),
    SetThreads: ("Asked to change its threads", "Would ask to change its threads"),
    Migrate: ("Moved", "Would move"),
    Pause: ("Paused", "Would pause"),
    Resume: ("Resumed", "Would resume"),
    Stop: ("Stopped", "Would stop"),
}


class ActivityLog:
    """Takes the entries of an attached policy and writes down the newest."""

    def __init__(self, files: LiveFiles, attached: AttachedPolicy, since: float) -> None:
        self._files = files
        self._attached = attached
        self._started = since
        self._entries: deque[ActivityEntry] = deque(maxlen=_MAX_ENTRIES)
        self._limits: dict[str, float | None] = {}
        self._bounds: dict[str, tuple[float | None, float | None]] = {}
        self._labels: dict[str, str] = {}
        self._called: Counter[str] = Counter()  # jobs by name without their number
        self._evidence = EvidenceLog(since)
        self.decisions = 0
        self.resizes = 0
        self._write({})

    def take(self, entry: Entry, containers: Mapping[str, str]) -> None:
        """Take the next entry and show it; `containers` has the id of each job's container."""
        self.recall(entry)
        self._attached = replace(
            self._attached,
            next_wake=None if entry.wake is None else self._started + entry.wake,
            resizes=self.resizes,
            evidence=self._evidence.evidence,
            course=tuple(self._evidence.course),
            names={
                container: self._shown(name) for name, container in containers.items() if REPEATED in name
            },
        )
        self._write(
            {
                containers[mark.job]: (mark.label, mark.growth)
                for mark in entry.marks
                if mark.job in containers
            }
        )

    def recall(self, entry: Entry) -> None:
        """Take the next entry without showing it yet: one of the run's part before its worker ended."""
        observation = entry.observation
        self.decisions += 1
        self._labels = {mark.job: mark.label for mark in entry.marks}
        jobs = {job.id: job for job in observation.jobs}
        self._called = Counter(map(_plain_name, jobs))
        self._limits = {name: limit for name, limit in self._limits.items() if name in jobs}
        self._note_owners(self._started + observation.time, jobs)
        why = {reason.job: reason.text for reason in entry.reasons if reason.job is not None}
        refused = {failure.action for failure in entry.failures}
        for action in entry.actions:
            if action not in refused and action.job in jobs:
                self._note(
                    self._started + observation.time, action, jobs[action.job], why.get(action.job, "")
                )
        for failure in entry.failures:
            self._add_entry(self._started + observation.time, failure.action.job, f"Could not: {failure.why}")
        self._evidence.take(entry)

    def alive(self) -> None:
        """Show that the policy is still attached; called often, writes only now and then."""
        if age(self._files.attached) > _TOUCH_AFTER:
            os.utime(self._files.attached)

    def close(self) -> None:
        """Show that the policy is no longer attached."""
        self._files.attached.unlink(missing_ok=True)

    def _note(self, at: float, action: Action, job: Job, why: str) -> None:
        if not isinstance(action, SetLimit):
            control_text, advise_text = _VERBS[type(action)]
            word = control_text if self._attached.mode is Mode.CONTROL else advise_text
            self._add_entry(at, action.job, f"{word}. {why}".strip())
            return
        before, limit = self._limits.get(job.id, job.limit), at_most(job.max_cores, action.limit)
        self._limits[job.id] = limit
        if before == limit:
            return
        self.resizes += 1
        text = why or f"From {_format_limit(before)} to {_format_limit(limit)}."
        if limit != action.limit:
            text += f" It stays at the {_format_limit(limit)} that its owner allows."
        self._add_entry(at, action.job, text, before, limit)

    def _note_owners(self, at: float, jobs: Mapping[str, Job]) -> None:
        """Note the bounds that owners changed since the last entry."""
        bounds = {name: (job.owner_cores, job.owner_memory) for name, job in jobs.items()}
        for name, (cores, memory) in bounds.items():
            if name not in self._bounds or self._bounds[name] == (cores, memory):
                continue
            parts = [
                *([format_cores(cores)] if cores is not None else []),
                *([format_bytes(memory)] if memory is not None else []),
            ]
            allowed = f"{' and '.join(parts)} at most" if parts else "no limit"
            self._limits.pop(name, None)
            self._add_entry(at, name, f"Somebody else changed its limits: {allowed} from now on.")
        self._bounds = bounds

    def _add_entry(
        self, at: float, job: str, text: str, before: float | None = None, after: float | None = None
    ) -> None:
        shown = self._shown(job)
        text = text.replace(job, shown)
        self._entries.appendleft(ActivityEntry(at, shown, text, before, after, self._labels.get(job, "")))

    def _shown(self, job: str) -> str:
        """A job's name for people: a container that was started again keeps its own, unless two have it."""
        return job if self._called[_plain_name(job)] > 1 else _plain_name(job)

    def _write(self, marks: dict[str, tuple[str, float | None]]) -> None:
        write_attached(self._files.attached, replace(self._attached, entries=tuple(self._entries)), marks)


def _plain_name(job: str) -> str:
    return job.partition(REPEATED)[0]


def _format_limit(limit: float | None) -> str:
    return "no limit" if limit is None else format_cores(limit)
