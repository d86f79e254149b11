"""Short simulated runs of a scheduling policy, for its exam (`core.scheduling.policy_exam`)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from core.engines.simulated import simulated
from core.errors import PhaseDockError
from core.provisioning.policy_exam import settings_wrong
from core.scheduling.loop import drive
from core.scheduling.policy_exam import QUESTIONS, Paper, declaration
from core.scheduling.ports import SchedulingPolicy
from core.simulation.loss import MODELS, curve
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec

if TYPE_CHECKING:
    from core.scheduling.loop import Entry

MOST_ENTRIES = 5_000
_SEED = 3


def jobs(count: int, gap: float) -> tuple[JobSpec, ...]:
    """Jobs of many kinds: capped or not, with requests, steps and checkpoints or without."""
    return tuple(
        JobSpec(
            f"j{place}",
            work=40.0 + 35.0 * (place % 4),
            arrival=gap * place,
            demand=(None, 0.6, 1.5)[place % 3],
            loss=curve(MODELS[place % 3]),
            request=(None, 0.5, 1.0)[place % 3],
            checkpoint_s=None if place == 2 else 1.5,
            steps=None if place % 5 == 4 else 200,
        )
        for place in range(count)
    )


def cluster(count: int) -> Scenario:
    """Three unlike workers on which some migrations fail."""
    workers = (WorkerSpec("u", 1.0), WorkerSpec("v", 2.0), WorkerSpec("w", 1.0))
    return Scenario(workers, jobs(count, 12.0), gamma=0.02, checkpoint_failure=0.2, restore_failure=0.2)


SHORT = (Scenario((WorkerSpec("w", 1.0),), jobs(3, 20.0)), cluster(6))
"""What a policy from outside is run on; it takes little time."""


def paper(policy: SchedulingPolicy, scenario: Scenario, seed: int = _SEED, **values: object) -> Paper:
    """Run a policy once in the simulator."""
    settings = policy.chosen(values)

    def run() -> tuple[Entry, ...]:
        return tuple(islice(drive(simulated(scenario, 1), policy, settings, seed), MOST_ENTRIES))

    return Paper(policy, settings, seed, tuple(job.id for job in scenario.jobs), run(), run)


def sit(policy: object) -> str | None:
    """Ask a scheduling policy all questions; returns the first thing that is wrong as a sentence, or None.

    Whatever a policy raises counts as a wrong answer and is not propagated.
    """
    if not isinstance(policy, SchedulingPolicy):
        return f"It is a {type(policy).__name__}, not a SchedulingPolicy."
    try:
        wrong = settings_wrong(policy.settings) or declaration(policy)
        if wrong is None:
            wrong = next((said for scenario in SHORT if (said := _asked(paper(policy, scenario)))), None)
    except PhaseDockError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - code from outside may raise anything
        return f"It raised {type(error).__name__}: {str(error)[:200]}."
    return wrong


def _asked(one: Paper) -> str | None:
    return next((said for question in QUESTIONS if (said := question(one))), None)
