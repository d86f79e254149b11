"""The states of a submitted job as a table: which state may follow which.

Nothing else changes a job's state: every change (`core.runtime.live.queue.store`) is one update that names
the states that it leaves, so of two who want to change the same job only one does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class QueueState(StrEnum):
    """Where a submitted job is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """True once it will never run again."""
        return self not in ACTIVE


_W, _R, _P = QueueState.WAITING, QueueState.RUNNING, QueueState.PAUSED
ACTIVE: Final = (_W, _R, _P)
"""The states of jobs that somebody still has to look after."""

COMES_FROM: Final[dict[QueueState, tuple[QueueState, ...]]] = {
    QueueState.WAITING: (_R, _P),  # a start that failed, or of which a kill left nothing
    QueueState.RUNNING: ACTIVE,
    QueueState.PAUSED: (_R, _P),
    QueueState.ENDED: (_R, _P),
    QueueState.FAILED: ACTIVE,
    QueueState.REFUSED: (_W,),
    QueueState.CANCELLED: ACTIVE,
}
"""The states that each state may follow; a state may follow itself where only its figures change."""
