"""The digest of a policy's sources: it changes when the policy's code does, inside PhaseDock or outside."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.provisioning.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.scheduling.ports import SchedulingPolicy

_CORE = Path(__file__).resolve().parents[2]
_BASE = {True: ("provisioning", "phases"), False: ("scheduling",)}


def source_digest(policy: Policy | SchedulingPolicy) -> str:
    """A digest of the code that a policy's decisions come from, 32 hexadecimal digits.

    It covers what PhaseDock's policies of that sort are built of and, for a policy from outside, the file
    or all Python files of the package that its functions and its settings are from; the same for the
    policy that it wraps.

    Parameters
    ----------
    policy
        A policy of either sort.
    """
    trees = [_CORE / name for name in _BASE[isinstance(policy, Policy)]]
    outside = sorted({path for each in _chain(policy) for path in _outside(each)})
    whole = hashlib.sha256()
    for place in (*trees, *outside):
        whole.update(_digest_of(place))
    return whole.hexdigest()[:32]


def _chain(policy: Policy | SchedulingPolicy) -> Iterator[Policy | SchedulingPolicy]:
    """The policy, and those that it wraps."""
    one: Policy | SchedulingPolicy | None = policy
    while one is not None:
        yield one
        one = one.wraps if isinstance(one, Policy) else None


def _outside(policy: Policy | SchedulingPolicy) -> Iterator[Path]:
    """The files and folders outside PhaseDock that a policy's own parts are defined in."""
    parts: list[Any] = [policy.settings]
    parts += [policy.fit] if isinstance(policy, Policy) else [policy.begin, policy.decide]
    for part in parts:
        while isinstance(part, functools.partial):
            part = part.func  # noqa: PLW2901
        name = getattr(inspect.unwrap(part), "__module__", type(part).__module__)
        top = sys.modules.get(name.partition(".")[0])
        module = sys.modules.get(name)
        if top is None or module is None or name.partition(".")[0] == "core":
            continue
        if getattr(top, "__path__", None):
            yield Path(next(iter(top.__path__)))
        elif getattr(module, "__file__", None):
            yield Path(str(module.__file__))


def forget_sources() -> None:
    """Read sources again when they are next needed."""
    _digest_of.cache_clear()


@functools.lru_cache(maxsize=256)
def _digest_of(place: Path) -> bytes:
    """The digest of a file, or of all Python files below a folder; read once, as the code itself is."""
    whole = hashlib.sha256()
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        whole.update(str(file.relative_to(place.parent)).encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.digest()
