"""What the page shows, as its address says it: lanes, the minimum dwell time, and the part of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import dash_mantine_components as dmc

from app.context import workspace
from app.ui import evaluations
from app.ui.basics import Node, aria, icon
from app.ui.phases import shown_dwell
from core.errors import NotFoundError
from core.traces.lanes import Lane, list_lanes, select_lanes
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.context import Choice
    from core.traces.model import FloatArray
    from core.workspace.phase_labels import Labelling


NONE = ""
_RESOURCES = {Role.CPU: "cpu", Role.MEMORY: "memory"}


# A policy's allocation over the timeline of an execution: which policies can be shown, and what they gave.
#
# Only executions that were held out have allocations: what policies gave to those that they learned from
# would say nothing about how they do on others.


@dataclass(frozen=True, slots=True)
class Overlays:
    """The comparison that allocations are taken from, and its policies."""

    evaluation: str
    policies: tuple[str, ...]


def overlays(choice: Choice, evaluation: str | None) -> Overlays | None:
    """The comparison that an address names, else the last one on the pair; None where there is none."""
    found = None
    if evaluation:
        try:
            found = evaluations.get(evaluation)
        except NotFoundError:
            found = None
    found = found or evaluations.latest(choice)
    if found is None:
        return None
    parts = found.report["resources"].values()
    names = dict.fromkeys(each["policy"] for part in parts for each in part["policies"])
    return Overlays(found.id, tuple(names))


def allocations(evaluation: str | None, policy: str | None, execution: str) -> dict[Role, FloatArray]:
    """What a policy gave an execution, per sample; empty where it was not held out or nothing is chosen."""
    if not evaluation or not policy:
        return {}
    try:
        stored = workspace().evaluations.get(evaluation)
    except NotFoundError:
        return {}
    found = {role: stored.allocation(name, policy, execution) for role, name in _RESOURCES.items()}
    return {role: values for role, values in found.items() if values is not None}


def sentence(evaluation: str | None, policy: str | None, execution: str) -> str:
    """Why a chosen policy has nothing to show here; empty where it has."""
    if not policy or allocations(evaluation, policy, execution):
        return ""
    if not evaluation:
        return f"No comparison with {policy} is stored for these traces; evaluate it on Provisioning."
    return f"Only held-out executions have allocations; {policy} learned from this one or was not compared."


def picker(found: Overlays, policy: str | None) -> Node:
    """The choice of a policy to draw over the timeline."""
    options = [{"value": NONE, "label": "Overlay: none"}]
    options += [{"value": name, "label": name} for name in found.policies]
    return dmc.Select(
        id="overlay",
        data=options,
        value=policy if policy in found.policies else NONE,
        allowDeselect=False,
        searchable=True,
        size="xs",
        w=130,
        rightSection=icon("selector", "sm"),
        comboboxProps={"width": "max-content", "position": "bottom-end"},
        **aria(label="Policy whose allocation is drawn over the timeline"),
    )


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
        return cls(traces, model, select_lanes(offered, keys_in(shown)), shown_dwell(traces, model, dwell))

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
    return list_lanes(workspace().traces.get(traces).features)


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
