"""The kinds of long work there are: one module each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry
from core.runtime.tasks.handlers.attach import ATTACH
from core.runtime.tasks.handlers.choose_k import CHOOSE_K
from core.runtime.tasks.handlers.evaluate import EVALUATE
from core.runtime.tasks.handlers.expand import EXPAND
from core.runtime.tasks.handlers.ingest import INGEST
from core.runtime.tasks.handlers.record import RECORD
from core.runtime.tasks.handlers.samples import SAMPLES
from core.runtime.tasks.handlers.search import SEARCH
from core.runtime.tasks.handlers.simulate import SIMULATE
from core.runtime.tasks.handlers.train import TRAIN

if TYPE_CHECKING:
    from core.runtime.tasks.kind import Kind

KINDS: Registry[Kind] = Registry("kind of task")
for _kind in (INGEST, TRAIN, CHOOSE_K, SEARCH, EXPAND, SAMPLES, EVALUATE, SIMULATE, ATTACH, RECORD):
    KINDS.add(_kind.name, _kind)
