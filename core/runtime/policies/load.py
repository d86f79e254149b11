"""Policies that live outside PhaseDock: in installed packages, or in files that the operator names.

A package offers them by the entry points ``phasedock.provisioning`` and ``phasedock.scheduling``, a file
(``PHASEDOCK_POLICIES``) by a tuple ``POLICIES``. To load one is to run its code, so both are the
operator's choice and nothing that is uploaded ever gets here. Each sits the exam before it is
registered; one that fails is refused by name, and PhaseDock starts without it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from core.provisioning.policies import POLICIES as PROVISIONING
from core.provisioning.policy import Policy
from core.provisioning.policy_exam import sit as sit_provisioning
from core.runtime.policies.simulated_papers import sit as sit_scheduling
from core.runtime.policies.sources import forget_sources, source_digest
from core.scheduling.policies import POLICIES as SCHEDULING
from core.scheduling.ports import SchedulingPolicy
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from core.registry import Registry

_LOG = logging.getLogger(__name__)
GROUPS = {"phasedock.provisioning": Policy, "phasedock.scheduling": SchedulingPolicy}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A policy, or a whole source of policies, that was not taken.

    Parameters
    ----------
    name
        The policy, or empty where its source could not be read at all.
    source
        The file or the package.
    why
        A sentence.
    """

    name: str
    source: str
    why: str

    def __str__(self) -> str:
        """The refusal in words."""
        what = f"The policy “{self.name}” of {self.source}" if self.name else self.source
        return f"{what} is not used. {self.why}"


_lock = threading.Lock()
_read: dict[str, tuple[Refusal, ...]] = {}


def load_policies(files: Iterable[Path] = ()) -> tuple[Refusal, ...]:
    """Register the policies of installed packages and of these files; each source is read once a process.

    Parameters
    ----------
    files
        Python files, as `core.config.Settings.policies` has them.

    Returns
    -------
    tuple
        What was refused, and why.
    """
    with _lock:
        sources: dict[str, Callable[[], object]] = {
            f"{point.group}: {point.name} ({point.value})": _of_package(point)
            for group in GROUPS
            for point in entry_points(group=group)
        }
        sources |= {str(file): _of_file(file) for file in files}
        for source, declared in sources.items():
            if source not in _read:
                _read[source] = tuple(_registered(source, declared))
                for refusal in _read[source]:
                    _LOG.warning("%s", refusal)
        return tuple(refusal for source in sources for refusal in _read[source])


def refusals() -> tuple[Refusal, ...]:
    """What this process refused so far."""
    return tuple(refusal for refused in _read.values() for refusal in refused)


def log_refusals() -> None:
    """Put what was refused into a log that was opened after policies were loaded."""
    for refusal in refusals():
        _LOG.info("%s", refusal)


def forget(source: str) -> None:
    """Unregister a source's policies, so that it can be read again; for tests and notebooks."""
    with _lock:
        _read.pop(source, None)
        forget_sources()
        for register in (PROVISIONING, SCHEDULING):
            for name in [name for name in register if register.source(name) == source]:
                register.remove(name)


def listing() -> list[dict[str, Any]]:
    """Every policy with its source, its kind and its settings, as ``phasedock policies`` shows them."""
    return [
        {
            "policy": name,
            "for": field,
            "kind": str(getattr(policy, "kind", "oracle" if getattr(policy, "oracle", False) else "policy")),
            "about": policy.about,
            "source": register.source(name) or "PhaseDock",
            "settings": [
                {
                    "name": spec.name,
                    "default": policy.defaults.get(spec.name, spec.default),
                    "bounds": spec.bounds,
                    "unit": spec.unit,
                    "help": spec.help,
                }
                for spec in describe(policy.settings)
            ],
        }
        for field, register in _registers()
        for name, policy in register.items()
    ]


def _registers() -> tuple[tuple[str, Registry[Any]], ...]:
    return ("provisioning", PROVISIONING), ("scheduling", SCHEDULING)


def _of_package(point: EntryPoint) -> Callable[[], object]:
    def declared() -> object:
        found = point.load()
        kind = GROUPS[point.group]
        wrong = next((each for each in _each(found) if not isinstance(each, kind)), None)
        if wrong is not None:
            raise TypeError(f"{point.value} is not a {kind.__name__}, nor a tuple of them")
        return found

    return declared


def _of_file(file: Path) -> Callable[[], object]:
    def declared() -> object:
        name = f"phasedock_policies_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError("it is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module.POLICIES

    return declared


def _each(found: object) -> tuple[object, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _registered(source: str, declared: Callable[[], object]) -> Iterable[Refusal]:
    """Register what passes; returns what does not."""
    try:
        found = _each(declared())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code from outside may raise anything
        yield Refusal("", source, f"It could not be loaded: {type(error).__name__}: {str(error)[:200]}.")
        return
    for policy in found:
        why = _refused(policy)
        if why is not None:
            yield Refusal(str(getattr(policy, "name", type(policy).__name__)), source, why)
        elif isinstance(policy, Policy):
            source_digest(PROVISIONING.add(policy.name, policy, source))  # of the code as it is loaded now
        elif isinstance(policy, SchedulingPolicy):
            source_digest(SCHEDULING.add(policy.name, policy, source))


def _refused(policy: object) -> str | None:
    if not isinstance(policy, Policy | SchedulingPolicy):
        return "It is neither a Policy nor a SchedulingPolicy."
    register: Registry[Any] = PROVISIONING if isinstance(policy, Policy) else SCHEDULING
    if policy.name in register:
        return f"Its name is taken by a policy of {register.source(policy.name) or 'PhaseDock'}."
    return sit_provisioning(policy) if isinstance(policy, Policy) else sit_scheduling(policy)
