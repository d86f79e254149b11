"""The kinds of long work there are: one module each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry
from core.runtime.kinds.attach import ATTACH
from core.runtime.kinds.choose_k import CHOOSE_K
from core.runtime.kinds.evaluate import EVALUATE
from core.runtime.kinds.expand import EXPAND
from core.runtime.kinds.ingest import INGEST
from core.runtime.kinds.record import RECORD
from core.runtime.kinds.samples import SAMPLES
from core.runtime.kinds.search import SEARCH
from core.runtime.kinds.simulate import SIMULATE
from core.runtime.kinds.train import TRAIN

if TYPE_CHECKING:
    from core.runtime.kinds.base import Kind

KINDS: Registry[Kind] = Registry("kind of task")
for _kind in (INGEST, TRAIN, CHOOSE_K, SEARCH, EXPAND, SAMPLES, EVALUATE, SIMULATE, ATTACH, RECORD):
    KINDS.add(_kind.name, _kind)
