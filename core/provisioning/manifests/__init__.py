"""The verdict as files: Kubernetes manifests, values for Helm, ``docker update``, JSON and CSV, per workload.

A manifest gives one amount for a container's whole life: the fixed amount that the page recommends. Request
and limit are the same, because an amount that a container has and cannot exceed is what was judged. Comments
hold the evidence, twice: in sentences, and after ``evidence:`` as YAML.

One module per kind of file, one line per format in the register.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.provisioning.fleet import Resource
from core.provisioning.manifests.manifest_comments import (
    can_be_written,
    comments,
    exportable,
    omission_comments,
    one_line,
)
from core.provisioning.manifests.vpa_manifest import as_helm, as_patch, as_vpa
from core.tables import Table, render_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.provisioning.manifests.manifest_comments import About
    from core.provisioning.verdict.verdict import Card, Line, Option, Verdict


_MIN_MIB = 6


def as_docker(verdict: Verdict, about: About) -> str:
    """One command per workload; a placeholder stands where its containers' names go.

    Raises
    ------
    InputError
        If there is nothing that can be set.
    """
    lines = [f"# {line}" for line in about.lines()]
    lines += [
        "# The last word of each command is a placeholder made from the workload’s name, not a container:",
        "# put the names of its containers there, with spaces between them.",
        f"# Docker takes no less than {_MIN_MIB} MiB of memory.",
        *omission_comments(verdict),
    ]
    for card, parts in exportable(verdict):
        name = re.sub(r"[^a-zA-Z0-9_.-]+", "-", card.name).strip("-._") or "container"
        lines += ["", *comments(card, parts)]
        lines.append(f"# in place of {name}: the names of the containers of “{one_line(card.name)}”")
        lines.append(f"docker update {' '.join(_options(parts))} {shlex.quote(name)}")
    return "\n".join(lines) + "\n"


def _options(lines: Sequence[Line]) -> list[str]:
    options = []
    for line in lines:
        if line.fixed is None:
            continue
        amount = line.fixed.evidence["request"]
        if line.resource is Resource.CPU:
            options.append(f"--cpus {max(amount, 0.01):.2f}")
        else:
            mebibytes = max(round(amount / 2**20), _MIN_MIB)
            options += [f"--memory {mebibytes}m", f"--memory-swap {mebibytes}m"]
    return options


def rows(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """One row per workload, resource and way to give it."""
    for card in verdict.cards:
        for line in card.lines:
            options = [each for each in (line.steered, line.fixed, line.recommended) if each is not None]
            for option in {each.method: each for each in options}.values():
                yield _row(card, line, option)


def _row(card: Card, line: Line, option: Option) -> dict[str, Any]:
    values, interval = option.evidence, option.interval or (None, None)
    return {
        "workload": card.name,
        "containers": card.containers,
        "learned_from": card.training,
        "held_out": card.held_out,
        "resource": line.resource.value,
        "unit": line.unit.value,
        "now": line.now,
        "now_is": line.now_is,
        "way": option.method,
        "policy": option.policy,
        "recommended": option is line.recommended,
        "exported": option is line.fixed and can_be_written(card, line),
        "amount": option.amount,
        "request": values.get("request"),
        "at_least": option.at_least,
        "saved_per_container": line.now - option.amount,
        "saved_low": interval[0],
        "saved_high": interval[1],
        "time_short_0": values["under_time_0"],
        "time_short_05": values["under_time_05"],
        "short_low": values.get("short_low"),
        "short_high": values.get("short_high"),
        "resizes_per_hour": values["resizes_per_hour"],
        "events": values["events"],
        "containers_short": values["containers_short"],
        "saved_at_once": option.saved.amount,
        "saved_per_day": option.saved.per_day,
        "saved_money_per_day": option.saved.money,
        "state": option.standing.state.value,
        "evidence": option.standing.sentence,
        "by_phase": [
            {
                "phase": each.name,
                "amount": each.amount,
                "made_from": each.made_from,
                "tested": each.tested,
                "time_short_0": each.time_short,
                "containers_short": each.containers_short,
            }
            for each in line.by_phase
        ],
    }


def as_json(verdict: Verdict, about: About) -> str:
    """Everything, one object."""
    head = {
        "traces": about.traces,
        "model": about.model,
        "date": about.date,
        "workloads_by": verdict.by,
        "settings": dict(about.report["settings"]),
        "assumptions": list(about.assumptions),
        "policies": {
            resource.value: {"policy": each.policy, "why": each.sentence}
            for resource, each in verdict.picks.items()
        },
    }
    document = {"about": head, "workloads": list(rows(verdict))}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(verdict: Verdict, about: About) -> str:
    """One line per workload, resource and way; cells that a spreadsheet would run are escaped."""
    source = {"traces": about.traces, "model": about.model, "date": about.date}
    lines = [{**row, "by_phase": _phases_cell(row["by_phase"]), **source} for row in rows(verdict)]
    return "".join(render_csv(Table.file_only("verdict", lines[0], lines), "\n"))


def _phases_cell(phases: Sequence[Mapping[str, Any]]) -> str:
    """The amounts of the phases in one cell, such as ``φ1 0.98; φ2 1.43``, in the row's unit."""
    return "; ".join(f"{each['phase']} {each['amount']:.10g}" for each in phases)


__all__ = ["FORMATS", "ManifestFormat", "write"]


@dataclass(frozen=True, slots=True)
class ManifestFormat:
    """One way to write a verdict."""

    #: Its name in addresses and on the command line.
    name: str
    #: Its name for people.
    title: str
    #: The file extension, without the dot, and the MIME type.
    ending: str
    mime: str
    #: Writes the text; it may raise `InputError` where there is nothing that can be set.
    write: Callable[[Verdict, About], str]


FORMATS = {
    manifest.name: manifest
    for manifest in (
        ManifestFormat("patch", "Kubernetes", "yaml", "application/yaml", as_patch),
        ManifestFormat("vpa", "Kubernetes VPA", "yaml", "application/yaml", as_vpa),
        ManifestFormat("helm", "Helm values", "yaml", "application/yaml", as_helm),
        ManifestFormat("docker", "docker update", "sh", "text/x-shellscript", as_docker),
        ManifestFormat("json", "JSON", "json", "application/json", as_json),
        ManifestFormat("csv", "CSV", "csv", "text/csv", as_csv),
    )
}
"""The formats by name, in the order in which they are offered."""


def write(verdict: Verdict, about: About, style: str) -> str:
    """Write a verdict in one of the formats.

    Raises
    ------
    InputError
        If there is no such format, or nothing that can be set.
    """
    if style not in FORMATS:
        raise InputError(f"There is no format “{style}”.", f"Choose one of: {', '.join(FORMATS)}.")
    return FORMATS[style].write(verdict, about)
