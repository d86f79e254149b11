"""An experiment as the YAML that people read: in its own order, short values on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from core.experiments.jobs import Drawn, JobKind
from core.experiments.parts import Arrivals, Containers, World
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDE = 100


class _Short(dict[str, Any]):
    """A mapping that stands on one line."""


class _Row(list[Any]):
    """A list that stands on one line."""


class _Writer(yaml.SafeDumper):
    """Writes `_Short` and `_Row` on one line."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the name is the library's
        return True


def _short(writer: _Writer, value: _Short) -> yaml.Node:
    return writer.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=True)


def _row(writer: _Writer, value: _Row) -> yaml.Node:
    return writer.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


_Writer.add_representer(_Short, _short)
_Writer.add_representer(_Row, _row)


def written(values: Mapping[str, Any]) -> str:
    """An experiment's plain values as YAML; defaults are left out."""
    text: str = yaml.dump(
        shortened(values), Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDE, indent=2
    )
    return text


def shortened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from their defaults, in an order for people.

    A value that the reader would refuse stays as it is, so that it can be seen where it is wrong.
    """
    made = dict(values)
    for name, cls in (("world", World), ("drawn", Drawn), ("arrivals", Arrivals), ("docker", Containers)):
        if isinstance(made.get(name), dict):
            made[name] = _Short(_changed(cls, made[name]))
    if isinstance(made.get("kinds"), dict):
        made["kinds"] = {
            kind: _Short(_changed(JobKind, each)) if isinstance(each, dict) else each
            for kind, each in made["kinds"].items()
        }
    for name in ("workers", "jobs", "published"):
        if isinstance(made.get(name), list):
            made[name] = [
                _Short(_without_host(each)) if isinstance(each, dict) else each for each in made[name]
            ]
    if isinstance(made.get("policies"), list):
        made["policies"] = [_arm(each) for each in made["policies"]]
    if isinstance(made.get("seeds"), dict):
        made["seeds"] = _Short(made["seeds"])
    elif isinstance(made.get("seeds"), list):
        made["seeds"] = _Row(made["seeds"])
    empty = ("about", "engine", "world", "kinds", "jobs", "drawn", "arrivals", "docker", "published")
    if made.get("engine") == "simulated":
        made.pop("engine")
        made.pop("docker", None)
    return {name: each for name, each in made.items() if each or name not in empty}


def _without_host(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in values.items() if name != "host" or each}


def _changed(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the defaults of a settings class; spans of one value are that value."""
    usual: dict[str, Any] = {}
    for spec in describe(cls):
        usual[spec.name] = spec.default
        if isinstance(spec.default, tuple):
            usual[spec.name] = spec.default[0] if spec.default[0] == spec.default[1] else list(spec.default)
    kept = {name: each for name, each in values.items() if name not in usual or each != usual[name]}
    return {name: _Row(each) if isinstance(each, list) else each for name, each in kept.items() if each != []}


def _arm(arm: Any) -> Any:
    if not isinstance(arm, dict):
        return arm
    made = {name: each for name, each in arm.items() if each not in ({}, None, "")}
    if made.get("label") == made.get("policy"):
        made.pop("label", None)
    if "settings" in made and isinstance(made["settings"], dict):
        made["settings"] = _Short(made["settings"])
    return _Short(made) if "settings" not in made else made
