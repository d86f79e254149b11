"""Reading what was published of an experiment: figures that stand beside its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.experiments.published import Published
from core.experiments.reading.fields import listing, mapping, typed
from core.experiments.reading.marked import SpecError

if TYPE_CHECKING:
    from core.experiments.reading.marked import Path


def published(value: Any) -> tuple[Published, ...]:
    """The published figures; those of policies that the experiment no longer has are kept and not shown.

    Raises
    ------
    SpecError
        If one says neither its values nor its change, or not which job it is about.
    """
    return tuple(
        _one(each, ("published", at)) for at, each in enumerate(listing(value, ("published",), "published"))
    )


def _one(value: Any, path: Path) -> Published:
    made = typed(Published, mapping(value, path, "A published figure"), path, "A published figure")
    if bool(made.value) is not bool(made.base) or bool(made.value) is bool(made.share):
        raise SpecError(
            path,
            "A published figure needs its value and its baseline, or its change.",
            "Write “value: 57.7, base: 84.7” or “share: -31.9%”.",
        )
    if made.measure == "completion" and not made.job:
        raise SpecError(path, "The completion of one job was published, but not of which.", "Write “job: …”.")
    return made
