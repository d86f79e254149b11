"""The choice of a page: the trace set and the model in its address.

Everything chosen is in the address, so that any view can be sent to a colleague. What the address
leaves out is chosen here: the newest trace set, and the newest model that fits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from dash import dcc, page_container
from flask import current_app, request
from flask_caching import Cache

from core.errors import NotFoundError
from core.workspace.code_version import code_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flask import Flask

    from core.application import Workspace
    from core.config import Settings
    from core.workspace.records import ModelInfo, TraceSetInfo


_cache = Cache()
_MAX_ENTRIES = 500
T = TypeVar("T")


# A cache for parts of pages that are costly to make and depend only on stored data.
#
# Keys are made of fingerprints of contents and of the program, so an entry is never stale, only unused;
# it survives renaming or restoring a trace set.


def install(server: Flask, settings: Settings) -> None:
    """Keep the cache in Redis where one is configured, else in the home folder."""
    config: dict[str, Any] = {"CACHE_DEFAULT_TIMEOUT": 0}
    if settings.redis_url:
        config |= {"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": settings.redis_url}
    else:
        config |= {
            "CACHE_TYPE": "FileSystemCache",
            "CACHE_DIR": str(settings.home / "cache"),
            "CACHE_THRESHOLD": _MAX_ENTRIES,
        }
    _cache.init_app(server, config)


def cached(make: Callable[[], T], *key: object) -> T:
    """Return the result of `make`, from the cache when the key is known."""
    name = "|".join(str(part) for part in (code_digest(("app", "core")), *key))
    value: T | None = _cache.get(name)
    if value is None:
        value = make()
        _cache.set(name, value)
    return value


EXTENSION = "phasedock"
LOCATION: str = next(
    part.id  # type: ignore[attr-defined]  # properties are attributes from a component's making on
    for part in page_container.children
    if isinstance(part, dcc.Location)
)
"""The component in which Dash keeps the address; it is public as a part of `dash.page_container` only."""


def workspace() -> Workspace:
    """The workspace that this web process serves."""
    current: Workspace = current_app.extensions[EXTENSION]
    return current


@dataclass(frozen=True, slots=True)
class Choice:
    """The trace set, model and engine that an address names; None where there is none."""

    traces: TraceSetInfo | None
    model: ModelInfo | None
    engine: str | None = None

    def pair(self) -> tuple[TraceSetInfo, ModelInfo] | None:
        """Both, or None while either is missing."""
        return None if self.traces is None or self.model is None else (self.traces, self.model)

    def query(self) -> dict[str, str]:
        """The choice as parameters of an address."""
        parameters = {
            key: info.id for key, info in (("traces", self.traces), ("model", self.model)) if info is not None
        }
        return parameters | ({"engine": self.engine} if self.engine else {})


def find_choice(traces: str | None = None, model: str | None = None) -> Choice:
    """Find the trace set and model of an address, with defaults.

    Raises NotFoundError if the address names a trace set or model that does not exist.
    """
    space = workspace()
    trace_set = space.traces.get(traces) if traces else _default_set(space.traces.list())
    if model:
        return Choice(trace_set, space.models.get(model))
    fitting = space.models.compatible(trace_set.id) if trace_set else []
    trained_here = [info for info in fitting if trace_set and info.trace_set_id == trace_set.id]
    return Choice(trace_set, next(iter(trained_here or fitting), None))


def _default_set(sets: Sequence[TraceSetInfo]) -> TraceSetInfo | None:
    """The newest imported set; a recording only where nothing was imported."""
    return next((info for info in sets if not info.recorded), next(iter(sets), None))


def chosen_or_newest(traces: str | None, model: str | None) -> Choice:
    """What an address is about; the newest where it names something that does not exist."""
    try:
        return find_choice(traces, model)
    except NotFoundError:
        return find_choice()


def own_path(pathname: str | None) -> str:
    """The path of a page as the browser has it, without the prefix of a proxy."""
    return (pathname or "/").removeprefix(request.script_root) or "/"


def address(path: str, choice: Choice | None = None, **more: str | float | None) -> str:
    """The address of a page with a choice and further parameters; those that are None are left out."""
    query: dict[str, object] = dict(choice.query()) if choice else {}
    query |= {key: value for key, value in more.items() if value is not None}
    return f"{path}?{urlencode(query)}" if query else path
