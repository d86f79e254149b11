"""The ports: a policy that decides, and an engine that observes and acts.

A policy is a pure function with typed settings: ``decide(state, observation)`` gives the next state, the
actions and the reasons. The same object runs in the simulator, on a Docker host and on clusters. An engine
owns time: `Engine.wait` returns when something happened or when the policy wants to be asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    """What a policy answers."""

    #: What it wants to remember; a frozen value.
    state: State
    #: What to do, in this order.
    actions: tuple[Action, ...] = ()
    #: Why, for the ledger.
    reasons: Sequence[Reason] = ()
    #: What it thinks of each job now.
    marks: tuple[Mark, ...] = ()
    #: When it wants to be asked again at the latest, seconds of the run's clock; None: only when something
    #: happens.
    wake: float | None = None


@dataclass(frozen=True)
class SchedulingPolicy:
    """A way of sharing machines among training jobs."""

    #: Its name in tables and on the command line.
    name: str
    #: One sentence for people.
    about: str
    #: ``begin(settings, seed)`` gives the state before the first observation. Whatever is left to chance is
    #: drawn from `seed` and the state alone.
    begin: Callable[[Any, int], Any]
    #: ``decide(state, observation)``: pure; it never sees time, chance, files or an engine.
    decide: Callable[[Any, Observation], Decision[Any]]
    #: The frozen dataclass of what can be chosen.
    settings: type[Any] = NoSettings
    #: True if it looks at `Job.hidden`.
    oracle: bool = False
    #: Settings that this variant has instead of the dataclass's own.
    defaults: Mapping[str, object] = field(default_factory=dict)
    #: Its name as its authors write it, where that is another.
    title: str = ""
    #: Whether it leads jobs through numbers of cores, so that its runs are compared by their time per step.
    staged: bool = False
    #: Whether it goes by `Job.use`, which engines show to nobody else.
    sees_use: bool = False
    #: Whether, with such settings, it goes by priorities.
    ranks: Callable[[Any], bool] = lambda _settings: False

    def build_settings(self, values: Mapping[str, object] | None = None) -> Any:
        """The policy's settings with some values chosen.

        Raises
        ------
        InputError
            If a setting is unknown or out of bounds.
        """
        return build(self.settings, {**self.defaults, **(values or {})})


class Engine(Protocol):
    """Where workers and jobs are: the simulator, a Docker host, a cluster."""

    def wait(self, until: float | None) -> None:
        """Let time pass until something happens, or until `until` at the latest."""

    def observe(self) -> Observation:
        """Show everything that can be seen now; each reading of E is shown once."""

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Do what was decided, in order; what fails at once is returned, and seen next time."""

    @property
    def finished(self) -> bool:
        """True once every job has ended and none is to come."""
