"""What the page shows, as its address says it: lanes, the minimum dwell time, and the part of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from app.context import workspace
from app.ui.phases.views import shown_dwell
from core.traces.lanes import Lane, chosen_lanes, lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.workspace.phase_labels import Labelling


@dataclass(frozen=True, slots=True)
class View:
    """A trace set under a model, as it is shown."""

    #: Their ids.
    traces: str
    model: str
    #: What is shown of the traces.
    lanes: tuple[Lane, ...]
    #: The minimum dwell time in seconds; 0 shows phases as labelled.
    dwell: float = 0.0

    @classmethod
    def read(cls, traces: str, model: str, shown: str | None, dwell: str | None) -> View:
        """The view of an address; what it leaves out, or says wrong, is as usual."""
        offered = offered_lanes(traces)
        return cls(traces, model, chosen_lanes(offered, keys_in(shown)), shown_dwell(traces, model, dwell))

    def labelling(self) -> Labelling:
        """The phases of every sample."""
        return workspace().labels.get(self.traces, self.model, self.dwell)

    def key(self) -> tuple[str, ...]:
        """What the view depends on, for caches of what is made from it."""
        space = workspace()
        prints = (space.traces.get(self.traces).fingerprint, space.models.get(self.model).fingerprint)
        return (*prints, f"{self.dwell:g}", written_keys(self.lanes))


def offered_lanes(traces: str) -> tuple[Lane, ...]:
    """All lanes of a stored trace set."""
    return lanes(workspace().traces.get(traces).features)


def keys_in(text: str | None) -> list[str] | None:
    """The keys of lanes in an address, None where it names none."""
    return [unquote(part) for part in text.split(",")] if text else None


def written_keys(shown: Sequence[Lane]) -> str:
    """Lanes as an address has them."""
    return ",".join(quote(lane.key, safe="") for lane in shown)


def window_of(x0: str | None, x1: str | None) -> tuple[float, float] | None:
    """The zoom of an address; None for anything that is not a span of time."""
    try:
        start, end = float(x0 or ""), float(x1 or "")
    except ValueError:
        return None
    return (start, end) if math.inf > end > start >= 0 else None
