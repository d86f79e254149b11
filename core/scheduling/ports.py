"""The ports: a policy that decides, and an engine that observes and acts.

A policy is a pure function with typed settings: ``decide(state, observation)`` returns the next state, the
actions and the reasons. The same object runs in the simulator, on a Docker host and on clusters. The engine
owns time: `Engine.wait` returns at an event or at the policy's wake-up time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from core.scheduling.fast_frozen_init import fast_frozen_init
from core.settings_fields import NoSettings, build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.scheduling.actions import Action, Mark, Reason
    from core.scheduling.model import Failure, Observation

State = TypeVar("State")


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Decision(Generic[State]):
    """The answer of a policy."""

    #: The state to remember; a frozen value.
    state: State
    #: The actions, in order.
    actions: tuple[Action, ...] = ()
    #: The reasons, for the ledger.
    reasons: Sequence[Reason] = ()
    #: The policy's view of each job.
    marks: tuple[Mark, ...] = ()
    #: The latest time of its next decision, seconds of the run's clock; None: at the next event.
    wake: float | None = None


class PolicyGroup(StrEnum):
    """What a policy mainly goes by, as forms group it."""

    PHASES = "By phases"
    PROGRESS = "By learning progress"
    REQUESTS = "By requests and deadlines"


@dataclass(frozen=True)
class SchedulingPolicy:
    """A scheduling policy."""

    #: Its name in tables and on the command line.
    name: str
    #: One sentence for the screen.
    about: str
    #: ``begin(settings, seed)`` returns the initial state. All random choices come from `seed` and the state.
    begin: Callable[[Any, int], Any]
    #: ``decide(state, observation)``: pure, without access to time, chance, files or an engine.
    decide: Callable[[Any, Observation], Decision[Any]]
    #: The frozen dataclass of its settings.
    settings: type[Any] = NoSettings
    #: True if it looks at `Job.hidden`.
    oracle: bool = False
    #: Defaults of this variant that differ from the dataclass's own.
    defaults: Mapping[str, object] = field(default_factory=dict)
    #: Its name in its authors' spelling, if different.
    title: str = ""
    #: What it mainly goes by.
    group: PolicyGroup = PolicyGroup.REQUESTS
    #: Whether it leads jobs through several numbers of cores, so that its runs are compared by time per step.
    staged: bool = False
    #: Whether it reads `Job.use`, which engines fill in only for such policies.
    sees_use: bool = False
    #: Whether it uses priorities with given settings.
    ranks: Callable[[Any], bool] = lambda _settings: False

    def build_settings(self, values: Mapping[str, object] | None = None) -> Any:
        """Return the policy's settings with these values.

        Raises
        ------
        InputError
            If a setting is unknown or out of bounds.
        """
        return build(self.settings, {**self.defaults, **(values or {})})


class Engine(Protocol):
    """The workers and jobs: the simulator, a Docker host, a cluster."""

    def wait(self, until: float | None) -> None:
        """Let time pass until something happens, or until `until` at the latest."""

    def observe(self) -> Observation:
        """Return an observation; each printed value of E appears once."""

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform the actions in order; returns immediate failures, which the next observation repeats."""

    @property
    def finished(self) -> bool:
        """True once every job has ended and none is to come."""
