"""How submitted jobs stand in the eyes of the policy that steers them, from its task to whoever looks.

One small file an engine, replaced as a whole after every decision (`core.runtime.live.view.snapshot`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from core.runtime.live.view.snapshot import replace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.scheduling.actions import Mark
    from core.scheduling.model import Job


@dataclass(frozen=True, slots=True)
class Standing:
    """One job; moments are seconds since 1970.

    Parameters
    ----------
    at
        When the policy saw it.
    steps, total_steps, step_seconds
        Steps done and in all, and seconds per step lately; None where it does not say.
    promised
        Whether its deadline is promised; None of a policy that promises nothing.
    label
        The list that the policy has it in.
    ends, soonest, latest
        When it is expected to end with the cores that it has, and between which moments eight times out of
        ten; None where that is not known.
    """

    at: float
    steps: int | None = None
    total_steps: int | None = None
    step_seconds: float | None = None
    promised: bool | None = None
    label: str = ""
    ends: float | None = None
    soonest: float | None = None
    latest: float | None = None


def standing(job: Job, mark: Mark | None, now: float, shift: float) -> Standing:
    """How a job stands; `shift` is between the run's clock and seconds since 1970."""
    said = (job.steps, job.total_steps, job.step_seconds)
    if mark is None:
        return Standing(now, *said)
    between = (None, None) if mark.between is None else tuple(each + shift for each in mark.between)
    ends = None if mark.ends is None else mark.ends + shift
    return Standing(now, *said, mark.promised, mark.label, ends, *between)


def write_standings(path: Path, found: Mapping[str, Standing]) -> None:
    """Write how jobs stand, by their ids."""
    replace(path, orjson.dumps(dict(found)))


def read_standings(path: Path) -> dict[str, Standing]:
    """What was written; nothing where this version cannot read it."""
    try:
        return {job: Standing(**each) for job, each in orjson.loads(path.read_bytes()).items()}
    except (OSError, orjson.JSONDecodeError, TypeError, AttributeError):
        return {}
