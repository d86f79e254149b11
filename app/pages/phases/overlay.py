"""A policy's allocation over the timeline of an execution: which policies can be shown, and what they gave.

Only executions that were held out have allocations: what policies gave to those that they learned from
would say nothing about how they do on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dash_mantine_components as dmc

from app.context import workspace
from app.ui import evaluations
from app.ui.basics import Node, aria, icon
from core.errors import NotFoundError
from core.traces.model import Role

if TYPE_CHECKING:
    from app.context import Choice
    from core.traces.model import FloatArray

NONE = ""
_RESOURCES = {Role.CPU: "cpu", Role.MEMORY: "memory"}


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
