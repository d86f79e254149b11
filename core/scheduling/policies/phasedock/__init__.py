"""PhaseDock's own policy: first what is nearly there, as long as nobody waits much longer than fair.

On each worker jobs are ordered by what is gained per core-second on the way to the best of their points: 90,
95 and 99% of the loss reduction, and the end (shortest remaining work first, extended to chains of points).
The order is followed only while every job can still keep its promise, to finish within (1 + delta) times what
fair sharing would take it, and while no job that cannot use a whole worker would end after all others. Jobs
that are not needed to fill the worker pause, so that they do not contend. A job that does not say how many
steps it has cannot be predicted: it keeps its fair share.

Jobs are placed where they delay the sum of completion times least, and move only if that saves more than
three times what moving costs (`core.scheduling.queueing`). What it knows: `knowing`; what a core-second is
worth: `worth`; how a worker is divided: `sharing`; places and moves: `moving`.
"""

from __future__ import annotations

from core.scheduling.policies.phasedock.policy import PHASEDOCK
from core.scheduling.policies.phasedock.settings import PhaseDockSettings

__all__ = ["PHASEDOCK", "POLICIES", "PhaseDockSettings"]

POLICIES = (PHASEDOCK,)
