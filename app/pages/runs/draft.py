"""A draft of an experiment: from a form's fields to plain values and YAML, with its errors.

A field's name is the path of its value (``workers/0/cores``), so that an error of the reader is shown at
its field; reading the same text as YAML gives the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from core.errors import InputError
from core.experiments.parts import (
    MAY_BE_NONE,
    SPANS,
    Arrivals,
    Containers,
    DrawnJobs,
    JobKind,
    WorkerGroup,
    World,
)
from core.experiments.spec import SIMULATED
from core.experiments.spec_reader import from_dict
from core.experiments.spec_values import SpecError, read_marked
from core.scheduling.policies import POLICIES
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.spec import Experiment
    from core.experiments.spec_values import Path

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SPAN = re.compile(r"\s*(?:to|–|,|;)\s*|(?<=[\d.])\s*-\s*")
_LINE = re.compile(r"Line (\d+)")
TIMES, JOBS = "arrivals/times", "jobs"
RECORDED, PUBLISHED = "recorded", "published"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in an experiment, with its line and the path of its value."""

    message: str
    hint: str
    line: int
    path: Path = ()


def check_text(text: str) -> tuple[Experiment | None, Problem | None]:
    """The experiment of a text, or its first error."""
    try:
        marked = read_marked(text)
    except InputError as error:
        match = _LINE.match(error.message)
        return None, Problem(error.message, error.hint, int(match[1]) if match else 1)
    try:
        return from_dict(marked.values), None
    except SpecError as error:
        line = marked.line(error.path)
        return None, Problem(f"Line {line}: {error.message}", error.hint, line, error.path)
    except InputError as error:
        return None, Problem(error.message, error.hint, 1)


def field_of(path: Path, kinds: Sequence[str], names: Sequence[str]) -> str | None:
    """The field, of `names`, that shows the value at a path; the nearest one around it, or None."""
    parts = [str(part) for part in path]
    if len(parts) > 1 and parts[0] == "kinds" and parts[1] in kinds:
        parts[1] = str(kinds.index(parts[1]))
    while parts:
        name = "/".join(parts)
        if name in names:
            return name
        below = [each for each in names if each.startswith(f"{name}/")]
        if len(parts) > 1 and below:
            return below[0]
        parts.pop()
    return None


# From fields to values.


def parse_number(value: Any) -> Any:
    """Parse an entered value as YAML would: a number if possible, else the text."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    return int(number) if number == int(number) and abs(number) < 1e15 and "." not in text else number


def parse_span(value: Any) -> Any:
    """One value, or two with “to” between them."""
    if not isinstance(value, str):
        return value
    parts = [part for part in _SPAN.split(value.strip().strip("[]")) if part]
    return [parse_number(part) for part in parts] if len(parts) == 2 else parse_number(value)


def from_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's plain values from a form's fields, by their names.

    Empty fields are omitted; nothing is checked here.
    """
    kinds = {}
    for each in _items(values, "kinds"):
        name = str(each.pop("name", "") or "").strip() or "kind"
        # two of one name would become one in silence
        while name in kinds:
            name += " (again)"
        kinds[name] = _typed(JobKind, each)
    recorded = _block(values.get(RECORDED), "kinds", {})
    kinds = {**kinds, **recorded} if isinstance(recorded, dict) else kinds | {"recorded": recorded}
    draft: dict[str, Any] = {
        "version": 1,
        "name": str(values.get("name") or "").strip(),
        "about": str(values.get("about") or "").strip(),
        "engine": values.get("engine") or SIMULATED,
        "docker": _typed(Containers, _part(values, "docker")),
        "workers": [_typed(WorkerGroup, each) for each in _items(values, "workers")],
        "world": _typed(World, _part(values, "world")),
        "kinds": kinds,
        "jobs": _block(values.get(JOBS), "jobs", []),
        "drawn": _typed(DrawnJobs, _part(values, "drawn")),
        "arrivals": _arrivals(values),
        "policies": [_arm_of(each) for each in _items(values, "policies")],
        "baseline": values.get("baseline") or None,
        "seeds": {
            name: parse_number(each)
            for name, each in _part(values, "seeds").items()
            if each not in ("", None)
        },
        "published": _block(values.get(PUBLISHED), "published", []),
    }
    return draft


def text_of(values: Mapping[str, Any]) -> str:
    """The YAML of a form's fields."""
    return write_yaml({name: each for name, each in from_fields(values).items() if each is not None})


def _part(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    head = f"{name}/"
    return {key.removeprefix(head): value for key, value in values.items() if key.startswith(head)}


def _items(values: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The parts of a list, in order."""
    items: dict[int, dict[str, Any]] = {}
    for key, value in _part(values, name).items():
        place, _, field = key.partition("/")
        items.setdefault(int(place), {})[field] = value
    return [items[place] for place in sorted(items)]


def _typed(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with numbers parsed; an empty one is None if None is allowed, else omitted."""
    typed: dict[str, Any] = {}
    for spec in describe(cls):
        if spec.name not in values:
            continue
        value = values[spec.name]
        if value in ("", None):
            if cls is JobKind and spec.name in MAY_BE_NONE:
                typed[spec.name] = None
        elif spec.kind not in ("int", "float"):
            typed[spec.name] = value
        else:
            typed[spec.name] = (
                parse_span(value) if spec.name in SPANS and cls is JobKind else parse_number(value)
            )
    return typed


def _arrivals(values: Mapping[str, Any]) -> dict[str, Any]:
    entries = _part(values, "arrivals")
    typed = _typed(Arrivals, entries)
    times = [
        parse_number(each)
        for each in re.split(r"[\s,;]+", str(entries.get("times") or "").strip("[] "))
        if each
    ]
    return typed | ({"times": times} if times else {})


def _block(text: Any, name: str, default: Any) -> Any:
    """The content of a YAML field; an invalid text stays a text, which the reader refuses."""
    if not isinstance(text, str) or not text.strip():
        return default
    try:
        read = read_marked(f"{name}:\n" + "\n".join(f"  {line}" for line in text.splitlines()))
    except InputError:
        return text
    content = read.values.get(name) or default
    return content if isinstance(content, type(default)) else text


def _arm_of(values: Mapping[str, Any]) -> dict[str, Any]:
    name = str(values.get("policy") or "")
    arm: dict[str, Any] = {"policy": name}
    if values.get("label"):
        arm["label"] = str(values["label"])
    if values.get("threads"):
        arm["threads"] = str(values["threads"])
    if name not in POLICIES:
        return arm
    if values.get("watch") and POLICIES[name].sees_use:
        arm["watch"] = True
    policy = POLICIES[name]
    defaults = {spec.name: policy.defaults.get(spec.name, spec.default) for spec in describe(policy.settings)}
    typed = _typed(policy.settings, _part(values, "settings"))
    settings = {key: value for key, value in typed.items() if value != defaults[key]}
    return arm | ({"settings": settings} if settings else {})


def has_seed_gaps(draft: Mapping[str, Any]) -> bool:
    """Whether the seeds are a list with gaps, which a count and a first seed cannot express."""
    seeds = draft.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(isinstance(each, int) for each in seeds):
        return False
    return seeds != list(range(seeds[0], seeds[0] + len(seeds)))


# As the YAML that people read: in its own order, short values on one line.


_WIDE = 100


class _Short(dict[str, Any]):
    """A mapping that is written on one line."""


class _Row(list[Any]):
    """A list that is written on one line."""


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


def write_yaml(values: Mapping[str, Any]) -> str:
    """An experiment's plain values as YAML; defaults are left out."""
    text: str = yaml.dump(
        without_defaults(values), Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDE, indent=2
    )
    return text


def without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from their defaults, in a readable order.

    A value that the reader would refuse stays as it is, so that it can be seen where it is wrong.
    """
    draft = dict(values)
    for name, cls in (("world", World), ("drawn", DrawnJobs), ("arrivals", Arrivals), ("docker", Containers)):
        if isinstance(draft.get(name), dict):
            draft[name] = _Short(_changed(cls, draft[name]))
    if isinstance(draft.get("kinds"), dict):
        draft["kinds"] = {
            kind: _Short(_changed(JobKind, each)) if isinstance(each, dict) else each
            for kind, each in draft["kinds"].items()
        }
    for name in ("workers", "jobs", "published"):
        if isinstance(draft.get(name), list):
            draft[name] = [
                _Short(_without_host(each)) if isinstance(each, dict) else each for each in draft[name]
            ]
    if isinstance(draft.get("policies"), list):
        draft["policies"] = [_short_arm(each) for each in draft["policies"]]
    if isinstance(draft.get("seeds"), dict):
        draft["seeds"] = _Short(draft["seeds"])
    elif isinstance(draft.get("seeds"), list):
        draft["seeds"] = _Row(draft["seeds"])
    empty = ("about", "engine", "world", "kinds", "jobs", "drawn", "arrivals", "docker", "published")
    if draft.get("engine") == "simulated":
        draft.pop("engine")
        draft.pop("docker", None)
    return {name: each for name, each in draft.items() if each or name not in empty}


def _without_host(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in values.items() if name != "host" or each}


def _changed(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the defaults of a settings class; spans of one value are that value."""
    defaults: dict[str, Any] = {}
    for spec in describe(cls):
        defaults[spec.name] = spec.default
        if isinstance(spec.default, tuple):
            defaults[spec.name] = (
                spec.default[0] if spec.default[0] == spec.default[1] else list(spec.default)
            )
    changed = {name: each for name, each in values.items() if name not in defaults or each != defaults[name]}
    return {
        name: _Row(each) if isinstance(each, list) else each for name, each in changed.items() if each != []
    }


def _short_arm(arm: Any) -> Any:
    if not isinstance(arm, dict):
        return arm
    short = {name: each for name, each in arm.items() if each not in ({}, None, "")}
    if short.get("label") == short.get("policy"):
        short.pop("label", None)
    if "settings" in short and isinstance(short["settings"], dict):
        short["settings"] = _Short(short["settings"])
    return _Short(short) if "settings" not in short else short
