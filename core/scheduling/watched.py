"""An engine on which a policy starts jobs, and what it would do to them afterwards is only written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Refuse, Start
from core.scheduling.over import OverEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure


class OnlyStarts(OverEngine):
    """Jobs begin, or are refused, and keep what they began with; nothing else is done, and nothing fails."""

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Start and refuse jobs."""
        return self._engine.apply([each for each in actions if isinstance(each, Start | Refuse)])
