"""A verdict as Kubernetes manifests: patches of pods' resources, or VerticalPodAutoscalers pinned to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.provisioning.manifests.manifest_comments import (
    comments,
    exportable,
    left_out,
)
from core.provisioning.recommendation.exports import (
    autoscaler,
    block_yaml,
    free_name,
    kubernetes_name,
    quantity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.provisioning.manifests.manifest_comments import About
    from core.provisioning.verdict.answer import Line, Verdict


_PATCH = (
    "Names are made from the workloads’: put your pod’s name into metadata, your container’s into spec.",
    "Then, for one document at a time: kubectl patch pod NAME --subresource resize --patch-file FILE",
)


_VPA = (
    "Names are made from the workloads’ names: put your job’s or deployment’s kind and name into targetRef.",
    "An autoscaler keeps the ratio of limit to request of the pod template: make them equal there.",
    "Then: kubectl apply -f FILE",
)


def as_patch(found: Verdict, about: About) -> str:
    """One patch of a pod's resources per workload.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    return _documents(found, about, _pod, _PATCH)


def as_vpa(found: Verdict, about: About) -> str:
    """One VerticalPodAutoscaler per workload, whose least and most allowed are the same amount.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    return _documents(found, about, _vpa, _VPA)


def _documents(
    found: Verdict,
    about: About,
    make: Callable[[str, Mapping[str, str]], dict[str, Any]],
    how: Sequence[str],
) -> str:
    head = [f"# {line}" for line in (*about.lines(), *how)] + left_out(found)
    parts, taken = [], set[str]()
    for card, lines in exportable(found):
        name = free_name(kubernetes_name(card.name), taken)
        parts.append("\n".join([*comments(card, lines), *block_yaml(make(name, _amounts(lines)))]))
    return "\n".join(head) + "\n---\n" + "\n---\n".join(parts) + "\n"


def _amounts(lines: Sequence[Line]) -> dict[str, str]:
    return {
        line.resource.value: quantity(line.exported.found["request"], line.unit)
        for line in lines
        if line.exported is not None
    }


def _pod(name: str, amounts: Mapping[str, str]) -> dict[str, Any]:
    resources = {"requests": dict(amounts), "limits": dict(amounts)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": name, "resources": resources}]},
    }


def _vpa(name: str, amounts: Mapping[str, str]) -> dict[str, Any]:
    return autoscaler(name, amounts, amounts)
