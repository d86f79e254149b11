"""Policies that live outside PhaseDock: in installed packages, or in files that the operator names.

A package offers them by the entry points ``phasedock.provisioning`` and ``phasedock.scheduling``, a file
(``PHASEDOCK_POLICIES``) by a tuple ``POLICIES``. To load one is to run its code, so both are the
operator's choice and nothing that is uploaded ever gets here. Each sits the exam before it is
registered; one that fails is refused by name, and PhaseDock starts without it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import logging
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.engines.simulated import simulated
from core.errors import PhaseDockError
from core.provisioning.policies import POLICIES as PROVISIONING
from core.provisioning.policy import Policy
from core.provisioning.policy_exam import settings_wrong
from core.provisioning.policy_exam import sit as sit_provisioning
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES as SCHEDULING
from core.scheduling.policy_exam import QUESTIONS, Paper, declaration
from core.scheduling.ports import SchedulingPolicy
from core.settings_fields import describe
from core.simulation.loss import MODELS, curve
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.metadata import EntryPoint

    from core.registry import Registry
    from core.scheduling.loop import Entry


MAX_ENTRIES = 5_000
_SEED = 3


def jobs(count: int, gap: float) -> tuple[JobSpec, ...]:
    """Jobs of many kinds: capped or not, with requests, steps and checkpoints or without."""
    return tuple(
        JobSpec(
            f"j{place}",
            work=40.0 + 35.0 * (place % 4),
            arrival=gap * place,
            demand=(None, 0.6, 1.5)[place % 3],
            loss=curve(MODELS[place % 3]),
            request=(None, 0.5, 1.0)[place % 3],
            checkpoint_s=None if place == 2 else 1.5,
            steps=None if place % 5 == 4 else 200,
        )
        for place in range(count)
    )


def cluster(count: int) -> Scenario:
    """Three unlike workers on which some migrations fail."""
    workers = (WorkerSpec("u", 1.0), WorkerSpec("v", 2.0), WorkerSpec("w", 1.0))
    return Scenario(workers, jobs(count, 12.0), gamma=0.02, checkpoint_failure=0.2, restore_failure=0.2)


SHORT = (Scenario((WorkerSpec("w", 1.0),), jobs(3, 20.0)), cluster(6))
"""What a policy from outside is run on; it takes little time."""


def run_for_exam(policy: SchedulingPolicy, scenario: Scenario, seed: int = _SEED, **values: object) -> Paper:
    """Run a policy once in the simulator."""
    settings = policy.build_settings(values)

    def run() -> tuple[Entry, ...]:
        return tuple(islice(drive(simulated(scenario, 1), policy, settings, seed), MAX_ENTRIES))

    return Paper(policy, settings, seed, tuple(job.id for job in scenario.jobs), run(), run)


def find_fault(policy: object) -> str | None:
    """Ask a scheduling policy all questions; returns the first thing that is wrong as a sentence, or None.

    Whatever a policy raises counts as a wrong answer and is not propagated.
    """
    if not isinstance(policy, SchedulingPolicy):
        return f"It is a {type(policy).__name__}, not a SchedulingPolicy."
    try:
        wrong = settings_wrong(policy.settings) or declaration(policy)
        if wrong is None:
            wrong = next(
                (text for each in SHORT if (text := _first_failure(run_for_exam(policy, each)))),
                None,
            )
    except PhaseDockError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - code from outside may raise anything
        return f"It raised {type(error).__name__}: {str(error)[:200]}."
    return wrong


def _first_failure(one: Paper) -> str | None:
    return next((sentence for question in QUESTIONS if (sentence := question(one))), None)


_CORE = Path(__file__).resolve().parent
_BASE = {True: ("provisioning", "phases"), False: ("scheduling",)}


def source_digest(policy: Policy | SchedulingPolicy) -> str:
    """A digest of the code that a policy's decisions come from, 32 hexadecimal digits.

    It covers what PhaseDock's policies of that sort are built of and, for a policy from outside, the file
    or all Python files of the package that its functions and its settings are from; the same for the
    policy that it wraps.
    """
    trees = [_CORE / name for name in _BASE[isinstance(policy, Policy)]]
    outside = sorted({path for each in _wrapped_policies(policy) for path in _outside_files(each)})
    digest = hashlib.sha256()
    for place in (*trees, *outside):
        digest.update(_digest_of(place))
    return digest.hexdigest()[:32]


def _wrapped_policies(policy: Policy | SchedulingPolicy) -> Iterator[Policy | SchedulingPolicy]:
    """The policy, and those that it wraps."""
    one: Policy | SchedulingPolicy | None = policy
    while one is not None:
        yield one
        one = one.wraps if isinstance(one, Policy) else None


def _outside_files(policy: Policy | SchedulingPolicy) -> Iterator[Path]:
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
    digest = hashlib.sha256()
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        digest.update(str(file.relative_to(place.parent)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.digest()


_LOG = logging.getLogger(__name__)
GROUPS = {"phasedock.provisioning": Policy, "phasedock.scheduling": SchedulingPolicy}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A policy, or a whole source of policies, that was not taken."""

    #: The policy, or empty where its source could not be read at all.
    name: str
    #: The file or the package.
    source: str
    #: A sentence.
    why: str

    def __str__(self) -> str:
        """The refusal in words."""
        what = f"The policy “{self.name}” of {self.source}" if self.name else self.source
        return f"{what} is not used. {self.why}"


_lock = threading.Lock()
_read: dict[str, tuple[Refusal, ...]] = {}


def load_policies(files: Iterable[Path] = ()) -> tuple[Refusal, ...]:
    """Register the policies of installed packages and of these files; each source is read once a process."""
    with _lock:
        sources: dict[str, Callable[[], object]] = {
            f"{point.group}: {point.name} ({point.value})": _of_package(point)
            for group in GROUPS
            for point in entry_points(group=group)
        }
        sources |= {str(file): _of_file(file) for file in files}
        for source, declared in sources.items():
            if source not in _read:
                _read[source] = tuple(_register_entry(source, declared))
                for refusal in _read[source]:
                    _LOG.warning("%s", refusal)
        return tuple(refusal for source in sources for refusal in _read[source])


def refusals() -> tuple[Refusal, ...]:
    """The policies that this process refused so far."""
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
            "title": getattr(policy, "title", "") or name,
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
        value = point.load()
        kind = GROUPS[point.group]
        wrong = next((each for each in _entries_of(value) if not isinstance(each, kind)), None)
        if wrong is not None:
            raise TypeError(f"{point.value} is not a {kind.__name__}, nor a tuple of them")
        return value

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


def _entries_of(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _register_entry(source: str, declared: Callable[[], object]) -> Iterable[Refusal]:
    """Register what passes; returns what does not."""
    try:
        entries = _entries_of(declared())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code from outside may raise anything
        yield Refusal("", source, f"It could not be loaded: {type(error).__name__}: {str(error)[:200]}.")
        return
    for policy in entries:
        refusal = _why_refused(policy)
        if refusal is not None:
            yield Refusal(str(getattr(policy, "name", type(policy).__name__)), source, refusal)
        elif isinstance(policy, Policy):
            source_digest(PROVISIONING.add(policy.name, policy, source))  # of the code as it is loaded now
        elif isinstance(policy, SchedulingPolicy):
            source_digest(SCHEDULING.add(policy.name, policy, source))


def _why_refused(policy: object) -> str | None:
    if not isinstance(policy, Policy | SchedulingPolicy):
        return "It is neither a Policy nor a SchedulingPolicy."
    register: Registry[Any] = PROVISIONING if isinstance(policy, Policy) else SCHEDULING
    if policy.name in register:
        return f"Its name is taken by a policy of {register.source(policy.name) or 'PhaseDock'}."
    return sit_provisioning(policy) if isinstance(policy, Policy) else find_fault(policy)
