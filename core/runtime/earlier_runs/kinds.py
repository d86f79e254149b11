"""Which jobs are of one kind, so that earlier runs tell how fast the next one will be."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final, NamedTuple

_BUNDLED: Final = ("python3", "-m", "phasedock_jobs")
_OWN_STEPS: Final = "--steps"
_APART: Final = (_OWN_STEPS, "--seed")
"""Options of the bundled programs that do not change how fast a step is,"""
_USUAL: Final = ("--threads", "follow")
"""what they do unless they are told,"""
_STEPS: Final = 200
"""and the steps that they take then."""


class Kind(NamedTuple):
    """A kind of job.

    Parameters
    ----------
    image, command
        What it runs.
    data
        What it trains on, in a word; empty where the command says that.
    """

    image: str
    command: tuple[str, ...]
    data: str = ""

    @property
    def key(self) -> str:
        """The same for all jobs of a kind.

        Jobs of a bundled program that differ in nothing but their number of steps or their seed are of one.
        """
        words, _ = self._split()
        about = json.dumps([self.image, words, self.data])
        return hashlib.sha256(about.encode()).hexdigest()[:32]

    @property
    def steps(self) -> int | None:
        """Training steps that a bundled program is told to take; None of others: their runs show them."""
        if self.command[: len(_BUNDLED)] != _BUNDLED:
            return None
        _, said = self._split()
        given = said.get(_OWN_STEPS, str(_STEPS))
        return int(given) if given.isdecimal() else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for people who look into the database."""
        return {"image": self.image, "command": list(self.command), "data": self.data}

    def _split(self) -> tuple[list[str], dict[str, str]]:
        """The words of a command without the options that set no kind apart, and those."""
        if self.command[: len(_BUNDLED)] != _BUNDLED:
            return list(self.command), {}
        kept: list[str] = []
        apart: dict[str, str] = {}
        words = iter(self.command)
        for word in words:
            name, sign, value = word.partition("=")
            if name in (*_APART, _USUAL[0]):
                said = value if sign else next(words, "")
                if name in _APART:
                    apart[name] = said
                elif said != _USUAL[1]:
                    kept += [name, said]
            else:
                kept.append(word)
        return kept, apart
