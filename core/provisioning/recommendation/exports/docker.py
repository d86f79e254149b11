"""Recommendations as ``docker update`` commands."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.recommendation.exports.origin import Origin
    from core.provisioning.recommendation.recommend import Advice

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
