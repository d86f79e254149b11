"""The simulated engine: virtual time, seeded chance, and the same port as every real one."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from core.engines.ports import EngineKind
from core.errors import InputError
from core.scheduling.policies import POLICIES
from core.simulation.apply_actions import perform
from core.simulation.observe import UsageWrapper, observe
from core.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.ports import RunRequest
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine
    from core.simulation.scenario import Scenario


class SimulatedEngine:
    """`core.scheduling.ports.Engine` over a `core.simulation.world.World`."""

    def __init__(self, world: World, *, reveal_hidden: bool = True) -> None:
        self._world, self._reveal_hidden = world, reveal_hidden
        self._number = 0

    @property
    def time(self) -> float:
        """Seconds of virtual time."""
        return self._world.now

    @property
    def finished(self) -> bool:
        """True once every job has ended and was shown as ended, and none is to come."""
        world = self._world
        return not (world.to_come or world.jobs or world.ended)

    def wait(self, until: float | None) -> None:
        """Let virtual time pass until a job arrives, ends or has migrated, or until `until` at the latest.

        Raises ConflictError if nothing can ever happen again, or the scenario's horizon is passed.
        """
        self._world.advance(until)

    def observe(self) -> Observation:
        """Return the present observation; each reading, end and failure appears once."""
        number, self._number = self._number, self._number + 1
        return observe(self._world, number, reveal_hidden=self._reveal_hidden)

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform the actions in order; return the failed ones, which also appear in the next observation."""
        return perform(self._world, actions)


def simulated(scenario: Scenario, seed: int, *, reveal_hidden: bool = True) -> SimulatedEngine:
    """Return a simulated engine at time 0.

    Raises InputError if the seed is negative.
    """
    if seed < 0:
        raise InputError(f"The seed is {seed}.", "Give zero or a positive whole number.")
    return SimulatedEngine(World(scenario, seed), reveal_hidden=reveal_hidden)


def _open(request: RunRequest) -> Engine:
    policy = POLICIES[request.arm.policy]
    engine = simulated(request.scenario, request.seed, reveal_hidden=policy.oracle)
    demands = {job.id: inf if job.demand is None else job.demand for job in request.scenario.jobs}
    return UsageWrapper(engine, demands) if policy.sees_use else engine


ENGINE: Final = EngineKind("simulated", "Simulator", _open)
