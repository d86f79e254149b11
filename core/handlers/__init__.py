"""The kinds of long work: one module with a ``KIND`` and one line here for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.handlers import (
    attach,
    choose_k,
    evaluate,
    expand,
    find_phases,
    ingest,
    keep_past,
    record,
    samples,
    search,
    simulate,
    teach,
    train,
)
from core.registry import Registry

if TYPE_CHECKING:
    from core.tasks.kind import Kind

KINDS: Registry[Kind] = Registry("kind of task")
for _kind in (
    ingest.KIND,
    train.KIND,
    find_phases.KIND,
    choose_k.KIND,
    search.KIND,
    expand.KIND,
    samples.KIND,
    evaluate.KIND,
    simulate.KIND,
    attach.KIND,
    record.KIND,
    keep_past.KIND,
    teach.KIND,
):
    KINDS.add(_kind.name, _kind)
