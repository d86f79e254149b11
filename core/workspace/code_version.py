"""A digest of the source code that made a stored result, as part of its cache key.

All files of a package count, so nothing that a policy uses can be forgotten; the price is that a change to
one policy makes the results of all of them old. A policy that lives elsewhere adds its own file, and where
that is in a package, the package's other files; what those import from further away does not count. Files are
read once a process, soon after they were imported, so that the digest is of the code that runs.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def program_version() -> str:
    """The version of PhaseDock, empty where it was not installed."""
    try:
        return version("phasedock")
    except PackageNotFoundError:
        return ""


def code_digest(packages: Iterable[str], policies: Iterable[object] = ()) -> str:
    """The digest of the sources of some packages or modules, and of policies wherever they are."""
    shared, places = _shared(tuple(packages))
    policy_places = {
        _place_of(function.__code__.co_filename) for policy in policies for function in _functions(policy)
    }
    outside = [
        place for place in sorted(policy_places) if not any(place.is_relative_to(inside) for inside in places)
    ]
    parts = [shared, *(_digest_below(place) for place in outside)]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


@functools.cache
def _shared(packages: tuple[str, ...]) -> tuple[str, tuple[Path, ...]]:
    """The digest of some packages and of the program's version, and where they are."""
    places = tuple(sorted({place for name in packages for place in _places(name)}))
    return "|".join([program_version(), *map(_digest_below, places)]), places


def _places(name: str) -> list[Path]:
    """The folders of a package, or the file of a module."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(name)
    return [Path(place) for place in spec.submodule_search_locations or [spec.origin or ""]]


def _functions(value: object, depth: int = 4) -> Iterator[FunctionType]:
    """The functions that a policy is made of, those that it was made from included."""
    if isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, FunctionType):
        yield value
        inner: list[object] = [cell.cell_contents for cell in value.__closure__ or ()]
    elif is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, each.name) for each in fields(value)]
    elif callable(value):
        inner = [getattr(value, "__func__", None) or type(value).__call__]
    else:
        return
    if depth:
        for each in inner:
            yield from _functions(each, depth - 1)


@functools.cache
def _place_of(file: str) -> Path:
    """A file of sources; its folder where that is a package."""
    path = Path(file)
    return path.parent if (path.parent / "__init__.py").is_file() else path


@functools.cache
def _digest_below(place: Path) -> str:
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(place)}\0".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
        digest.update(b"\0")
    return digest.hexdigest()
