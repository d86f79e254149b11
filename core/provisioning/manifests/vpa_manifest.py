"""A verdict for Kubernetes: patches of pods' resources, pinned VerticalPodAutoscalers, values for Helm."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.provisioning.manifests.manifest_comments import comments, exportable, omission_comments
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.provisioning.manifests.manifest_comments import About
    from core.provisioning.verdict.verdict import Line, Verdict


_PATCH = (
    "Names are made from the workloads’: put your pod’s name into metadata, your container’s into spec.",
    "Then, for one document at a time: kubectl patch pod NAME --subresource resize --patch-file FILE",
)


_VPA = (
    "Names are made from the workloads’ names: put your job’s or deployment’s kind and name into targetRef.",
    "An autoscaler keeps the ratio of limit to request of the pod template: make them equal there.",
    "Then: kubectl apply -f FILE",
)


_HELM = (
    "Charts have “resources” at the top of their values, or below a component’s name: put it there.",
    "Then, for one document at a time: helm upgrade RELEASE CHART --reuse-values --values FILE",
)


def as_patch(verdict: Verdict, about: About) -> str:
    """One patch of a pod's resources per workload.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    return _documents(verdict, about, _pod, _PATCH)


def as_vpa(verdict: Verdict, about: About) -> str:
    """One VerticalPodAutoscaler per workload, whose least and most allowed are the same amount.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    return _documents(verdict, about, _vpa, _VPA)


def as_helm(verdict: Verdict, about: About) -> str:
    """The resources of one workload's chart per document, as values of Helm.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    return _documents(verdict, about, lambda _, amounts: {"resources": _resources(amounts)}, _HELM)


def _documents(
    verdict: Verdict,
    about: About,
    make: Callable[[str, Mapping[str, str]], dict[str, Any]],
    usage: Sequence[str],
) -> str:
    head = [f"# {line}" for line in (*about.lines(), *usage)] + omission_comments(verdict)
    parts, used_names = [], set[str]()
    for card, lines in exportable(verdict):
        name = free_name(kubernetes_name(card.name), used_names)
        parts.append("\n".join([*comments(card, lines), *block_yaml(make(name, _amounts(lines)))]))
    return "\n".join(head) + "\n---\n" + "\n---\n".join(parts) + "\n"


def _amounts(lines: Sequence[Line]) -> dict[str, str]:
    return {
        line.resource.value: quantity(line.fixed.evidence["request"], line.unit)
        for line in lines
        if line.fixed is not None
    }


def _pod(name: str, amounts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": name, "resources": _resources(amounts)}]},
    }


def _resources(amounts: Mapping[str, str]) -> dict[str, Any]:
    return {"requests": dict(amounts), "limits": dict(amounts)}


def _vpa(name: str, amounts: Mapping[str, str]) -> dict[str, Any]:
    return autoscaler(name, amounts, amounts)


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


def free_name(name: str, used_names: set[str]) -> str:
    """The name, numbered where another group has it already."""
    number, free = 2, name
    while free in used_names:
        free, number = f"{name[:58]}-{number}", number + 1
    used_names.add(free)
    return free


def quantity(value: float, unit: Unit) -> str:
    """A Kubernetes quantity: millicores, or MiB, both rounded up."""
    scaled = value * 1000 if unit is Unit.CORES else value / 2**20
    return f"{max(ceil(scaled), 1)}{'m' if unit is Unit.CORES else 'Mi'}"


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
            first, *following = block_yaml(each, indent + 1)
            lines += [f"{pad}- {first.strip()}", *following]
        else:
            lines.append(f"{pad}- {json.dumps(each, ensure_ascii=False)}")
    return lines


def ceil(value: float) -> int:
    """The next whole number, unless rounding alone put the value above one."""
    return -int(-(value - 1e-6) // 1)
