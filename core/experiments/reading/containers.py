"""What an experiment must say beyond the simulator's needs before it can run in real containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.reading.marked import SpecError
from core.scheduling.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.jobs import JobKind, ListedJob
    from core.experiments.parts import WorkerGroup
    from core.experiments.spec import Arm


def check_docker(
    workers: Sequence[WorkerGroup],
    kinds: Mapping[str, JobKind],
    jobs: Sequence[ListedJob],
    arms: Sequence[Arm],
) -> None:
    """Refuse what only a simulator can run.

    Raises
    ------
    SpecError
        If machines have part of a processor, a job has no program, or a policy is an oracle.
    """
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
