"""The kinds of long work there are: one module each that declares a ``KIND``, one line each here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry, declared

if TYPE_CHECKING:
    from core.tasks.kind import Kind

KINDS: Registry[Kind] = Registry("kind of task")
for _kind in declared(
    "core.handlers",
    "KIND",
    "ingest",
    "train",
    "find_phases",
    "choose_k",
    "search",
    "expand",
    "samples",
    "evaluate",
    "simulate",
    "attach",
    "record",
    "keep_past",
    "teach",
):
    KINDS.add(_kind.name, _kind)
