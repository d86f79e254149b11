"""The verdict as files: Kubernetes manifests, ``docker update`` commands, JSON and CSV, per workload.

A manifest gives one amount for a container's whole life. Where the chosen policy never changes what it gives,
that is the policy itself; else it is the fixed amount that keeps the policy's promise, which the file
says. Request and limit are the same, because an amount that a container has and cannot exceed is what was
judged. Comments hold the evidence, twice: in sentences, and after ``evidence:`` as YAML.

One module per kind of file, one line per format in the register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.provisioning.manifests.docker import as_docker
from core.provisioning.manifests.kubernetes import as_patch, as_vpa
from core.provisioning.manifests.tables import as_csv, as_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.provisioning.manifests.evidence import About
    from core.provisioning.verdict.answer import Verdict

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
    made.name: made
    for made in (
        ManifestFormat("patch", "Kubernetes", "yaml", "application/yaml", as_patch),
        ManifestFormat("vpa", "Kubernetes VPA", "yaml", "application/yaml", as_vpa),
        ManifestFormat("docker", "docker update", "sh", "text/x-shellscript", as_docker),
        ManifestFormat("json", "JSON", "json", "application/json", as_json),
        ManifestFormat("csv", "CSV", "csv", "text/csv", as_csv),
    )
}
"""The formats by name, in the order in which they are offered."""


def write(found: Verdict, about: About, style: str) -> str:
    """Write a verdict in one of the formats.

    Raises
    ------
    InputError
        If there is no such format, or nothing that can be set.
    """
    if style not in FORMATS:
        raise InputError(f"There is no format “{style}”.", f"Choose one of: {', '.join(FORMATS)}.")
    return FORMATS[style].write(found, about)
