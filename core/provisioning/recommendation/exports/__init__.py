"""Recommendations as files: JSON, CSV, ``docker update`` commands and Kubernetes manifests.

Every text begins with comments that say from which model, traces and date it is (CSV has them as
columns, because comments are no part of it). Commands and manifests hold one entry per group for a
container's whole life; what each phase needs stands beside or below it in comments, as a container is in one
phase at a time. Pods can be resized in place (``kubectl patch pod … --subresource resize``).

One module per format, one line each in the register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.provisioning.recommendation.exports.docker import as_docker
from core.provisioning.recommendation.exports.kubernetes import as_patch, as_vpa
from core.provisioning.recommendation.exports.origin import Origin
from core.provisioning.recommendation.exports.tables import as_csv, as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.provisioning.recommendation.recommend import Advice

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
