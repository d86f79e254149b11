"""A cache for parts of pages that are costly to make and depend only on stored data.

Keys are made of fingerprints of contents and of the program, so an entry is never stale, only unused;
it survives renaming or restoring a trace set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from flask_caching import Cache

from core.workspace.code_version import code_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from core.config import Settings

_cache = Cache()
_MOST_ENTRIES = 500
T = TypeVar("T")


def install(server: Flask, settings: Settings) -> None:
    """Keep the cache in Redis where one is configured, else in the home folder."""
    config: dict[str, Any] = {"CACHE_DEFAULT_TIMEOUT": 0}
    if settings.redis_url:
        config |= {"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": settings.redis_url}
    else:
        config |= {
            "CACHE_TYPE": "FileSystemCache",
            "CACHE_DIR": str(settings.home / "cache"),
            "CACHE_THRESHOLD": _MOST_ENTRIES,
        }
    _cache.init_app(server, config)


def cached(make: Callable[[], T], *key: object) -> T:
    """What `make` returns, from the cache if the key was seen before."""
    name = "|".join(str(part) for part in (code_digest(("app", "core")), *key))
    found: T | None = _cache.get(name)
    if found is None:
        found = make()
        _cache.set(name, found)
    return found
