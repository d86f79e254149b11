"""Which jobs are of one kind, so that earlier runs tell how fast the next one will be."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from core.runtime.live.queue.spec import JobSpec

_OWN_STEPS: Final = "--steps"
_APART: Final = (_OWN_STEPS, "--seed")
"""Options of the bundled programs that do not change how fast a step is,"""
_STEPS: Final = 200
"""and the steps that they take unless they are told."""
_PROGRAM: Final = 4
"""Words of a bundled program's command before its options."""


def kind_of(spec: JobSpec) -> str:
    """The key of a job's kind: its image, its command, and the data that it trains on.

    Jobs of a bundled program that differ in nothing but their number of steps or their seed are of one kind.
    """
    words, _ = _split(spec)
    about = {"image": spec.image, "command": words, "data": spec.data}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def steps_of(spec: JobSpec) -> int | None:
    """Training steps that a bundled program is told to take; None of any other, which only its runs show."""
    if not spec.program:
        return None
    _, said = _split(spec)
    given = said.get(_OWN_STEPS, str(_STEPS))
    return int(given) if given.isdecimal() else None


def _split(spec: JobSpec) -> tuple[list[str], dict[str, str]]:
    """The words of a command without the options that set no kind apart, and those."""
    if not spec.program:
        return list(spec.command), {}
    kept, apart, words = list(spec.command[:_PROGRAM]), {}, iter(spec.command[_PROGRAM:])
    for word in words:
        name, sign, value = word.partition("=")
        if name in _APART:
            apart[name] = value if sign else next(words, "")
        else:
            kept.append(word)
    return kept, apart
