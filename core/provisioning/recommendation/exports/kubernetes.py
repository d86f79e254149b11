"""Recommendations as Kubernetes manifests: VerticalPodAutoscalers, or patches of pods' resources."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.provisioning.fleet import Resource
from core.provisioning.recommendation.exports.origin import (
    by_group,
    by_phase,
    ceil,
    left_out,
    one_line,
    reasons,
    words,
)
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.provisioning.recommendation.exports.origin import Origin
    from core.provisioning.recommendation.recommend import Advice

_HOW_TO_SCALE = (
    "Names are made from the groups’ names: put your job’s or deployment’s kind and name into targetRef.",
    "Then: kubectl apply -f FILE",
)
_HOW_TO_PATCH = (
    "Names are made from the groups’ names: put your pod’s name into metadata, your container’s into spec.",
    "Then, for one document at a time: kubectl patch pod NAME --subresource resize --patch-file FILE",
)


def as_vpa(rows: Sequence[Advice], origin: Origin) -> str:
    """One VerticalPodAutoscaler per group: from the smallest phase's request to the largest limit.

    Raises
    ------
    InputError
        If neither CPU is in cores nor memory in bytes.
    """
    return _documents(rows, origin, _vpa, _HOW_TO_SCALE)


def as_patch(rows: Sequence[Advice], origin: Origin) -> str:
    """One patch of a pod's resources per group, for a container's whole life.

    Raises
    ------
    InputError
        If neither CPU is in cores nor memory in bytes.
    """
    return _documents(rows, origin, _pod, _HOW_TO_PATCH)


def _documents(
    rows: Sequence[Advice],
    origin: Origin,
    make: Callable[[str, Sequence[Advice]], dict[str, Any]],
    how: Sequence[str],
) -> str:
    head = [f"# {line}" for line in (*origin.lines(), *how)] + left_out(rows)
    parts, taken = [], set[str]()
    for group, advice in by_group(rows):
        name = free_name(kubernetes_name(group), taken)
        why = [f"# {line}" for line in reasons(dict(by_phase(advice))[None])]
        why += [f"# while in {words(each)}" for phase, each in by_phase(advice) if phase is not None]
        parts.append("\n".join([f"# {one_line(group)}", *block_yaml(make(name, advice)), *why]))
    return "\n".join(head) + "\n---\n" + "\n---\n".join(parts) + "\n"


def _vpa(name: str, advice: Sequence[Advice]) -> dict[str, Any]:
    lowest: dict[str, str] = {}
    highest: dict[str, str] = {}
    for resource in Resource:
        mine = [row for row in advice if row.resource is resource]
        if mine:
            lowest[resource.value] = quantity(min(row.request for row in mine), mine[0].unit)
            highest[resource.value] = quantity(max(row.limit for row in mine), mine[0].unit)
    return autoscaler(name, lowest, highest)


def autoscaler(name: str, lowest: Mapping[str, str], highest: Mapping[str, str]) -> dict[str, Any]:
    """A VerticalPodAutoscaler for the container of a job."""
    policy = {
        "containerName": name,
        "minAllowed": dict(lowest),
        "maxAllowed": dict(highest),
        "controlledResources": list(lowest),
        "controlledValues": "RequestsAndLimits",
    }
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"apiVersion": "batch/v1", "kind": "Job", "name": name},
            "updatePolicy": {"updateMode": "Initial"},
            "resourcePolicy": {"containerPolicies": [policy]},
        },
    }


def _pod(name: str, advice: Sequence[Advice]) -> dict[str, Any]:
    whole = [row for row in advice if row.phase is None]
    resources = {
        "requests": {row.resource.value: quantity(row.request, row.unit) for row in whole},
        "limits": {row.resource.value: quantity(row.limit, row.unit) for row in whole},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": name, "resources": resources}]},
    }


def free_name(name: str, taken: set[str]) -> str:
    """The name, numbered where another group has it already."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name[:58]}-{number}", number + 1
    taken.add(free)
    return free


def quantity(value: float, unit: Unit) -> str:
    """A Kubernetes quantity: millicores, or MiB, both rounded up."""
    whole = value * 1000 if unit is Unit.CORES else value / 2**20
    return f"{max(ceil(whole), 1)}{'m' if unit is Unit.CORES else 'Mi'}"


def kubernetes_name(text: str) -> str:
    """A name that Kubernetes takes (DNS-1123 label): lower-case letters, digits and dashes, at most 63."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-")
    return name or "group"


def block_yaml(value: Mapping[str, Any] | Sequence[Any], indent: int = 0) -> list[str]:
    """A document in block style; scalars are written as JSON, which YAML reads."""
    pad, lines = "  " * indent, []
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, dict | list) and each:
                lines += [f"{pad}{key}:", *block_yaml(each, indent + 1)]
            else:
                lines.append(f"{pad}{key}: {json.dumps(each, ensure_ascii=False)}")
        return lines
    for each in value:
        if isinstance(each, dict | list):
            first, *rest = block_yaml(each, indent + 1)
            lines += [f"{pad}- {first.strip()}", *rest]
        else:
            lines.append(f"{pad}- {json.dumps(each, ensure_ascii=False)}")
    return lines
