"""What a replayed job printed, for whoever follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.scheduling.model import Reading


class DemoReadings:
    """What one replayed job printed; each reading is given once."""

    def __init__(self, printed: Callable[[], list[Reading]]) -> None:
        self._printed = printed
        self._given = 0

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of every reading since the last call, oldest first, by the host's last look."""
        printed = self._printed()
        new, self._given = printed[self._given :], max(self._given, len(printed))
        return new
