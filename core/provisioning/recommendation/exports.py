"""Recommendations as files: JSON, CSV, ``docker update`` commands and Kubernetes manifests.

Every text begins with comments that say from which model, traces and date it is (CSV has them as
columns, because comments are no part of it). Commands and manifests hold one entry per group for a
container's whole life; what each phase needs stands beside or below it in comments, as a container is in one
phase at a time. Pods can be resized in place (``kubectl patch pod … --subresource resize``).

One module per format, one entry each in the register.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.csv_export import csv_lines
from core.errors import InputError
from core.plain_text import without_controls
from core.provisioning.fleet import Resource
from core.units import Unit, format_share, format_value, phase_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.provisioning.recommendation.recommend import Advice


_ABSOLUTE = (Unit.CORES, Unit.BYTES)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a recommendation was made from; `date` is an ISO date."""

    model: str
    traces: str
    date: str

    def lines(self) -> list[str]:
        """The comment that every export carries."""
        return [
            "Recommended by PhaseDock",
            f"model: {one_line(self.model)}",
            f"traces: {one_line(self.traces)}",
            f"date: {one_line(self.date)}",
        ]


def by_group(rows: Sequence[Advice]) -> list[tuple[str, list[Advice]]]:
    """Each group's rows that are in cores or bytes.

    Raises
    ------
    InputError
        If there are none.
    """
    groups: dict[str, list[Advice]] = {}
    for row in rows:
        if row.unit in _ABSOLUTE:
            groups.setdefault(row.group, []).append(row)
    if not groups:
        raise InputError(
            "These traces have CPU and memory only as shares of a machine of unknown size.",
            "Import the file again with the machine’s cores and memory in the mapping.",
        )
    return list(groups.items())


def by_phase(rows: Sequence[Advice]) -> list[tuple[int | None, list[Advice]]]:
    """Each phase's rows; None is a container's whole life."""
    phases: dict[int | None, list[Advice]] = {}
    for row in rows:
        phases.setdefault(row.phase, []).append(row)
    return list(phases.items())


def left_out(rows: Sequence[Advice]) -> list[str]:
    """Comments that say which resources are only known as shares."""
    missing = {row.resource: None for row in rows if row.unit not in _ABSOLUTE}
    return [
        f"# {resource.value} is left out: the traces have it only as a share of a machine of unknown size."
        for resource in missing
    ]


def words(rows: Sequence[Advice]) -> str:
    """What one phase needs, in a line."""
    each = [
        f"{row.resource.value} request {format_value(row.request, row.unit)}, "
        f"limit {format_value(row.limit, row.unit)} ({format_share(row.expected_violation)} above request)"
        for row in rows
    ]
    return f"{rows[0].phase_name}: {'; '.join(each)}"


def reasons(rows: Sequence[Advice]) -> list[str]:
    """Why each resource gets what it gets, a line each."""
    return [f"{row.resource.value}: {one_line(row.reason)}" for row in rows]


def one_line(text: str) -> str:
    """Without control characters, so that a name cannot end a comment."""
    return without_controls(text)


def ceil(value: float) -> int:
    """The next whole number, unless rounding alone put the value above one."""
    return -int(-(value - 1e-6) // 1)


def as_json(rows: Sequence[Advice], origin: Origin) -> str:
    """Everything, one object."""
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    document = {"comment": about, "recommendations": [_called(row) for row in rows]}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(rows: Sequence[Advice], origin: Origin) -> str:
    """One line per group, phase and resource; cells that a spreadsheet would run are escaped."""
    names = [
        "group", "phase", "phase_number", "resource", "unit", "request", "limit", "samples", "containers",
        "mean", "sd", "peak", "expected_violation", "given", "saving", "reason", "model", "traces", "date",
    ]  # fmt: skip
    about = {"model": origin.model, "traces": origin.traces, "date": origin.date}
    cells = ({**_called(row), **about} for row in rows)
    return "".join(csv_lines(names, ([each[name] for name in names] for each in cells), "\n"))


def _called(row: Advice) -> dict[str, Any]:
    """A recommendation whose phase is called as on the screen, not by its id."""
    values = row.to_dict()
    name, phase = values.pop("name"), values.pop("phase")
    return {**values, "phase": name, "phase_number": None if phase is None else phase_number(phase)}


_LEAST_MEMORY = 6 * 2**20


def as_docker(rows: Sequence[Advice], origin: Origin) -> str:
    """One ``docker update`` command per group; a placeholder stands where its containers' names go.

    Raises
    ------
    InputError
        If neither CPU is in cores nor memory in bytes.
    """
    lines = [f"# {line}" for line in origin.lines()]
    lines += [
        "# The last word of each command is a placeholder made from the group’s name, not a container:",
        "# put the names of the group’s containers there, with spaces between them.",
        *left_out(rows),
    ]
    for group, advice in by_group(rows):
        lines += ["", f"# {one_line(group)}"]
        for phase, parts in by_phase(advice):
            if phase is not None:
                lines.append(f"# while in {words(parts)}")
        whole = dict(by_phase(advice))[None]
        lines += [f"# {line}" for line in reasons(whole)]
        name = _docker_name(group)
        lines.append(f"# in place of {name}: the names of the containers of “{one_line(group)}”")
        lines.append(f"docker update {' '.join(_docker_options(whole))} {shlex.quote(name)}")
    return "\n".join(lines) + "\n"


def _docker_name(text: str) -> str:
    name = re.sub(r"[^a-zA-Z0-9_.-]+", "-", text).strip("-._")
    return name or "container"


def _docker_options(whole: Sequence[Advice]) -> list[str]:
    options = []
    for row in whole:
        if row.resource is Resource.CPU:
            shares = max(round(1024 * row.request), 2)
            options += [f"--cpus {max(row.limit, 0.01):.2f}", f"--cpu-shares {shares}"]
        else:
            limit, kept = (
                max(ceil(value / 2**20), _LEAST_MEMORY // 2**20) for value in (row.limit, row.request)
            )
            options += [f"--memory {limit}m", f"--memory-swap {limit}m", f"--memory-reservation {kept}m"]
    return options


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


__all__ = ["FORMATS", "ExportFormat", "Origin", "export"]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One way to write recommendations."""

    #: Its name in URLs and on the command line.
    name: str
    #: Its name for people.
    title: str
    #: The file extension, without the dot, and the MIME type.
    ending: str
    mime: str
    #: Writes the text; it may raise `InputError` where the units do not allow it.
    write: Callable[[Sequence[Advice], Origin], str]


FORMATS = {
    made.name: made
    for made in (
        ExportFormat("vpa", "Kubernetes VPA", "yaml", "application/yaml", as_vpa),
        ExportFormat("patch", "Patch", "yaml", "application/yaml", as_patch),
        ExportFormat("docker", "docker update", "sh", "text/x-shellscript", as_docker),
        ExportFormat("json", "JSON", "json", "application/json", as_json),
        ExportFormat("csv", "CSV", "csv", "text/csv", as_csv),
    )
}
"""The formats by name, in the order in which they are offered."""


def export(rows: Sequence[Advice], origin: Origin, style: str) -> str:
    """Write recommendations in one of the formats.

    Raises
    ------
    InputError
        If there is no such format, or the units do not allow it.
    """
    if style not in FORMATS:
        raise InputError(f"There is no format “{style}”.", f"Choose one of: {', '.join(FORMATS)}.")
    return FORMATS[style].write(rows, origin)
