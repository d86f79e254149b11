"""Whether a deadline can be met, before a job is submitted: with how many cores, and which jobs give way.

The attached policy decides with its settings, or `deadline` with its defaults if no attached policy gives
guarantees. Its decision is computed from the present jobs of the engine, without changing anything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from core.deadline_text import format_deadline
from core.live.queue.values import QueueState
from core.live.view import FRESH_FOR, age, read_view
from core.scheduling.model import Job, JobState, Observation, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES, display_name
from core.scheduling.policies.deadline.outlook import predict_outlook
from core.scheduling.policies.deadline.settings import DeadlineSettings
from core.units import format_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.live.queue.spec import JobSpec
    from core.live.queue.values import QueuedJob, Standing
    from core.live.view import LiveFiles
    from core.sampling.values import EngineInfo, LiveView
    from core.scheduling.policies.deadline.outlook import Outlook
    from core.workspace.earlier_runs import EarlierRuns
    from core.workspace.records import TaskInfo

DEFAULT_POLICY: Final = "deadline"
"""The policy that decides if no attached policy gives guarantees."""

_STATES: Final = {
    QueueState.WAITING: JobState.WAITING,
    QueueState.RUNNING: JobState.RUNNING,
    QueueState.PAUSED: JobState.PAUSED,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The outlook for a job that is submitted now; times are seconds since 1970."""

    #: The time of the request, and the job's deadline or None.
    now: float
    deadline: float | None
    #: The policy that decided.
    policy: str
    #: Whether the policy is attached in control, so that this will happen.
    attached: bool
    #: The number of earlier runs of its kind, and whether they had more than one number of cores, so that
    #: its speed with others is more than a guess.
    runs: int
    profiled: bool
    #: The policy's outlook; its times are seconds since 1970, too.
    outlook: Outlook

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = asdict(self.outlook)
        lost = [{"job": job, "cores": had, "instead": has} for job, had, has in plain.pop("gives_way")]
        about = {name: getattr(self, name) for name in ("deadline", "policy", "attached", "runs", "profiled")}
        return {**about, **plain, "gives_way": lost}


def preview_policy(task: TaskInfo | None, controls: bool) -> tuple[str, DeadlineSettings, bool]:
    """Return the policy that would decide, its settings, and whether it is attached in control."""
    if task is not None:
        policy = str(task.params.get("policy", ""))
        policy_settings = POLICIES[policy].build_settings(task.params.get("settings") or {})
        if isinstance(policy_settings, DeadlineSettings):
            return policy, policy_settings, controls
    return DEFAULT_POLICY, DeadlineSettings(), False


@dataclass(frozen=True, slots=True)
class Present:
    """An engine as it is now."""

    #: The engine, and what its watcher left there.
    engine: EngineInfo
    files: LiveFiles
    #: Its jobs that are not over, and how they stand.
    jobs: tuple[QueuedJob, ...]
    stands: Mapping[str, Standing]
    #: The histories of earlier runs.
    earlier: EarlierRuns
    #: Seconds since 1970.
    now: float

    def answer(self, name: str, spec: JobSpec, policy: tuple[str, DeadlineSettings, bool]) -> Answer:
        """Return the outlook for a job under the deciding policy."""
        which, settings, attached = policy
        now, history = self.now, self.earlier.of(spec.kind)
        deadline = None if spec.deadline is None else max(spec.deadline - now, 0.0)
        memory = None if spec.memory is None else float(spec.memory)
        profile = self.earlier.profile(spec.kind)
        terms = Terms(spec.least, spec.most, memory, 0, deadline, profile)
        snapshot = self.files.snapshot
        view = read_view(snapshot) if age(snapshot) < FRESH_FOR else None
        others = (*self._observe_containers(view), *map(self._observe_job, self.jobs))
        job = name if all(each.id != name for each in others) else f"{name} (the new one)"
        new = Job(
            job, JobState.WAITING, arrived=now, request=spec.request, can_resize=spec.follows, terms=terms
        )
        held = [None] if view is None else [row.memory for row in view.rows]
        known = None if None in held else sum(each for each in held if each is not None)
        memory = None if known is None else self.engine.memory  # not part of a preview without samples
        worker = Worker(self.engine.name, self.engine.cores or 1.0, memory=memory, memory_used=known)
        observation = Observation(0, now, Trigger.ARRIVAL, (worker,), others)
        outlook = predict_outlook(settings, observation, new)
        return Answer(now, spec.deadline, which, attached, history.runs, history.has_curve, outlook)

    def _observe_job(self, job: QueuedJob) -> Job:
        """Return a submitted job as a policy observes it."""
        state, spec, how = _STATES[job.state], job.spec, self.stands.get(job.id)
        placed = state is not JobState.WAITING
        return Job(
            job.name,
            state,
            self.engine.name if placed else None,
            job.created,
            job.started if placed else None,
            limit=job.cores,
            steps=None if how is None else how.steps,
            total_steps=None if how is None else how.total_steps,
            request=spec.request,
            can_resize=spec.follows,
            terms=job.terms(self.earlier.profile(spec.kind)),
            step_seconds=None if how is None else how.step_seconds,
        )

    def _observe_containers(self, view: LiveView | None) -> list[Job]:
        """Return the recently sampled containers that the policy steers beside submitted jobs."""
        if view is None:
            return []
        now = self.now
        submitted = {job.container for job in self.jobs}
        return [
            Job(row.name, JobState.RUNNING, self.engine.name, now, now, limit=row.cpu_limit)
            for row in view.rows
            if row.id not in submitted and row.state == "running"
        ]


def sentences(answer: Answer, zone: str = "") -> list[str]:
    """Return the outlook in sentences, the answer first."""
    out, now = answer.outlook, answer.now

    def when(time: float) -> str:
        return format_deadline(time, now, zone)

    lines = [_verdict_sentence(answer, when), *([out.why] if out.promised is False and out.known else [])]
    if out.known and out.has and out.ends is not None:
        between = ""
        if out.between is not None:
            low, high = (when(each).partition(" (")[0] for each in out.between)
            between = f"; eight of ten such runs end between {low} and {high}" if low != high else ""
        lines.append(
            f"It would begin at once with {format_cores(out.has)}, "
            f"and end {when(out.ends)} if it keeps them{between}."
        )
    elif not out.has:
        lines.append("It would wait at first.")
    lines += [
        f"{job} would have {format_cores(has)} instead of {format_cores(had)} at first."
        if has
        else f"{job} would give up its {format_cores(had)} at first."
        for job, had, has in out.gives_way
    ]
    if out.known and not answer.profiled:
        lines.append("It ran with one number of cores only, so its speed with others is a guess.")
    if not answer.attached:
        lines.append(
            f"{display_name(answer.policy)} is not attached in control: this is its preview. "
            "Attach it in control to get the guarantee."
        )
    return lines


def _verdict_sentence(answer: Answer, when: Callable[[float], str]) -> str:
    out = answer.outlook
    if not out.known and answer.runs:
        return "Its number of steps is unknown, so its end cannot be predicted."
    if not out.known:
        return (
            "Its speed is unknown: no job of this kind has run here. It would run on spare cores, and get a "
            "guarantee as soon as its own steps show that it can meet its deadline."
        )
    if answer.deadline is None:
        return "It has no deadline."
    if out.promised:
        enough = "" if out.cores is None else f" with {format_cores(out.cores)}"
        return f"It can be done by {when(answer.deadline)}{enough}."
    until = f"It cannot be promised by {when(answer.deadline)}"
    return f"{until}." if out.soonest is None else f"{until}; {when(answer.now + out.soonest)} could be."
