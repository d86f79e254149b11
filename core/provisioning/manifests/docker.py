"""A verdict as ``docker update`` commands, one per workload."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from core.provisioning.fleet import Resource
from core.provisioning.manifests.evidence import comments, exportable, left_out, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.manifests.evidence import About
    from core.provisioning.verdict.answer import Line, Verdict

_LEAST_MIB = 6


def as_docker(found: Verdict, about: About) -> str:
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
        f"# Docker takes no less than {_LEAST_MIB} MiB of memory.",
        *left_out(found),
    ]
    for card, parts in exportable(found):
        name = re.sub(r"[^a-zA-Z0-9_.-]+", "-", card.name).strip("-._") or "container"
        lines += ["", *comments(card, parts)]
        lines.append(f"# in place of {name}: the names of the containers of “{one_line(card.name)}”")
        lines.append(f"docker update {' '.join(_options(parts))} {shlex.quote(name)}")
    return "\n".join(lines) + "\n"


def _options(lines: Sequence[Line]) -> list[str]:
    options = []
    for line in lines:
        if line.exported is None:
            continue
        amount = line.exported.found["request"]
        if line.resource is Resource.CPU:
            options.append(f"--cpus {max(amount, 0.01):.2f}")
        else:
            whole = max(round(amount / 2**20), _LEAST_MIB)
            options += [f"--memory {whole}m", f"--memory-swap {whole}m"]
    return options
