"""An experiment while it is being written: from plain values to a form's fields and back, and what is wrong.

A field's name is the path of its value (``workers/0/cores``), so that an error of the reader is shown at
its field; reading the same text as YAML gives the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import yaml
from dash import html

from app.pages.runs.build.yaml import written
from app.ui.basics import Node, data, icon, icon_button
from app.ui.forms import ORDER, control, field_id
from core.errors import InputError
from core.experiments.jobs import MAY_BE_NONE, SPANS, Drawn, JobKind
from core.experiments.parts import Arrivals, Containers, WorkerGroup, World
from core.experiments.reading.experiment import from_dict
from core.experiments.reading.marked import SpecError, read_marked
from core.experiments.spec import SIMULATED
from core.scheduling.policies import POLICIES
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.reading.marked import Path
    from core.experiments.spec import Experiment


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SPAN = re.compile(r"\s*(?:to|–|,|;)\s*|(?<=[\d.])\s*-\s*")
_LINE = re.compile(r"Line (\d+)")
TIMES, JOBS = "arrivals/times", "jobs"
RECORDED, PUBLISHED = "recorded", "published"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an experiment, on which line, and at which value."""

    message: str
    hint: str
    line: int
    path: Path = ()


def checked(text: str) -> tuple[Experiment | None, Problem | None]:
    """The experiment that a text is, or what is wrong with it."""
    try:
        marked = read_marked(text)
    except InputError as error:
        found = _LINE.match(error.message)
        return None, Problem(error.message, error.hint, int(found[1]) if found else 1)
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


def plain(value: Any) -> Any:
    """An entered value as YAML would read it: a number where it is one, else the text."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    return int(number) if number == int(number) and abs(number) < 1e15 and "." not in text else number


def span(value: Any) -> Any:
    """One value, or two with “to” between them."""
    if not isinstance(value, str):
        return value
    parts = [part for part in _SPAN.split(value.strip().strip("[]")) if part]
    return [plain(part) for part in parts] if len(parts) == 2 else plain(value)


def shown(value: Any) -> str:
    """A value as its text field has it."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        low, high = (value[0], value[-1]) if value else ("", "")
        return shown(low) if low == high else f"{shown(low)} to {shown(high)}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def from_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's plain values from a form's fields, by their names.

    What was left empty is left out; nothing is judged here.
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
    made: dict[str, Any] = {
        "version": 1,
        "name": str(values.get("name") or "").strip(),
        "about": str(values.get("about") or "").strip(),
        "engine": values.get("engine") or SIMULATED,
        "docker": _typed(Containers, _part(values, "docker")),
        "workers": [_typed(WorkerGroup, each) for each in _items(values, "workers")],
        "world": _typed(World, _part(values, "world")),
        "kinds": kinds,
        "jobs": _block(values.get(JOBS), "jobs", []),
        "drawn": _typed(Drawn, _part(values, "drawn")),
        "arrivals": _arrivals(values),
        "policies": [_arm(each) for each in _items(values, "policies")],
        "baseline": values.get("baseline") or None,
        "seeds": {
            name: plain(each) for name, each in _part(values, "seeds").items() if each not in ("", None)
        },
        "published": _block(values.get(PUBLISHED), "published", []),
    }
    return made


def text_of(values: Mapping[str, Any]) -> str:
    """The YAML of a form's fields."""
    return written({name: each for name, each in from_fields(values).items() if each is not None})


def _part(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    head = f"{name}/"
    return {key.removeprefix(head): value for key, value in values.items() if key.startswith(head)}


def _items(values: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The parts of a list, in order."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in _part(values, name).items():
        place, _, rest = key.partition("/")
        found.setdefault(int(place), {})[rest] = value
    return [found[place] for place in sorted(found)]


def _typed(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with numbers parsed; an empty one is None where that has a meaning, else left out."""
    made: dict[str, Any] = {}
    for spec in describe(cls):
        if spec.name not in values:
            continue
        value = values[spec.name]
        if value in ("", None):
            if cls is JobKind and spec.name in MAY_BE_NONE:
                made[spec.name] = None
        elif spec.kind not in ("int", "float"):
            made[spec.name] = value
        else:
            made[spec.name] = span(value) if spec.name in SPANS and cls is JobKind else plain(value)
    return made


def _arrivals(values: Mapping[str, Any]) -> dict[str, Any]:
    given = _part(values, "arrivals")
    made = _typed(Arrivals, given)
    times = [plain(each) for each in re.split(r"[\s,;]+", str(given.get("times") or "").strip("[] ")) if each]
    return made | ({"times": times} if times else {})


def _block(text: Any, name: str, nothing: Any) -> Any:
    """What a field of YAML holds; an invalid text is returned as it is, for the reader to refuse."""
    if not isinstance(text, str) or not text.strip():
        return nothing
    try:
        read = read_marked(f"{name}:\n" + "\n".join(f"  {line}" for line in text.splitlines()))
    except InputError:
        return text
    found = read.values.get(name) or nothing
    return found if isinstance(found, type(nothing)) else text


def _arm(values: Mapping[str, Any]) -> dict[str, Any]:
    name = str(values.get("policy") or "")
    made: dict[str, Any] = {"policy": name}
    if values.get("label"):
        made["label"] = str(values["label"])
    if values.get("threads"):
        made["threads"] = str(values["threads"])
    if name not in POLICIES:
        return made
    if values.get("watch") and POLICIES[name].sees_use:
        made["watch"] = True
    policy = POLICIES[name]
    usual = {spec.name: policy.defaults.get(spec.name, spec.default) for spec in describe(policy.settings)}
    given = _typed(policy.settings, _part(values, "settings"))
    settings = {key: value for key, value in given.items() if value != usual[key]}
    return made | ({"settings": settings} if settings else {})


def listed_text(jobs: Sequence[Mapping[str, Any]]) -> str:
    """Listed jobs as the field for them has them, one on a line."""
    return "".join(
        yaml.dump([dict(job)], default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000)
        for job in jobs
    )


def recorded_text(kinds: Mapping[str, Any]) -> str:
    """Kinds with recorded losses or measured speeds as the field for them has them."""
    plain_kinds = {
        name: {key: list(value) if isinstance(value, list) else value for key, value in kind.items()}
        for name, kind in kinds.items()
    }
    if not plain_kinds:
        return ""
    made: str = yaml.safe_dump(
        plain_kinds, default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000
    )
    return made


def gapped(draft: Mapping[str, Any]) -> bool:
    """Whether the seeds are a list with gaps, which a count and a first seed cannot say."""
    seeds = draft.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(isinstance(each, int) for each in seeds):
        return False
    return seeds != list(range(seeds[0], seeds[0] + len(seeds)))


FORM = "run"
SHAPE = "run-shape"
"""Fields whose values decide which others there are."""
FORM_ACT = "run-form-act"


def controls(
    cls: type[Any], path: str, values: Mapping[str, Any], only: Sequence[str] | None = None
) -> list[Node]:
    """The controls of a part at a path; spans and values that may be left out are text fields."""
    made: list[Node] = []
    for spec in describe(cls):
        if only is not None and spec.name not in only:
            continue
        value = values.get(spec.name, spec.default)
        if cls is JobKind and spec.name in (*SPANS, *MAY_BE_NONE):
            spec, value = replace(spec, kind="text"), shown(value)  # noqa: PLW2901 - a field of text instead
        made.append(control(FORM, replace(spec, name=f"{path}/{spec.name}"), value))
    return made


def rest(cls: type[Any], main: Sequence[str]) -> list[str]:
    """The settings of a part that are not among its main ones."""
    return [spec.name for spec in describe(cls) if spec.name not in main]


def text(name: str, label: str, value: str, help_: str = "", **more: Any) -> html.Div:
    """A field of text."""
    made = dmc.TextInput(
        id=field_id(FORM, name),
        label=label,
        description=help_ or None,
        value=value,
        size="xs",
        inputWrapperOrder=ORDER,
        **more,
    )
    return html.Div(made, className="field", **data(field=name))


def does(act: str, place: object = "") -> dict[str, Any]:
    """The action that a button of the form requests, as its attributes."""
    return data(act=act, id=place, store=FORM_ACT)


def section(title: str, *body: Node, tools: Sequence[Node] = ()) -> html.Fieldset:
    """A section of the form, with its buttons at the right of its title."""
    head = [html.H2(title), html.Div(list(tools), className="tools")] if tools else [html.H2(title)]
    return html.Fieldset(
        [html.Legend(title, className="sr"), html.Div(head, className="parthead"), *body], className="part"
    )


def item(title: str, controls: list[Node], act: str, place: int, more: Sequence[Node] = ()) -> html.Div:
    """One of several parts, with the button that removes it."""
    remove = icon_button("x", f"Remove {title}", **does(act, place))
    return html.Div(
        [html.Div([html.H3(title), remove], className="row between"),
         html.Div(controls, className="formgrid"), *more],
        className="partitem",
    )  # fmt: skip


def more(title: str, controls: list[Node]) -> html.Details:
    """Further controls, folded."""
    summary = html.Summary([icon("chevron-right", "sm"), title])
    return html.Details([summary, html.Div(controls, className="formgrid")], className="unfold")


def changed(draft: Mapping[str, Any], act: str, place: str) -> dict[str, Any]:
    """A draft with one part added or removed."""
    made = dict(draft)
    verb, _, part = act.partition("-")
    lists: dict[str, list[Any]] = {
        "workers": groups(draft),
        "kinds": list((draft.get("kinds") or {}).items()),
        "policies": arms(draft),
    }
    if part not in lists:
        return made
    items = lists[part]
    if verb == "add":
        items.append(_new(part, draft))
    elif place.isdecimal() and int(place) < len(items):
        items.pop(int(place))
    made[part] = dict(items) if part == "kinds" else items
    return made


def _new(part: str, draft: Mapping[str, Any]) -> Any:
    if part == "workers":
        return {"id": f"worker-{chr(ord('a') + len(groups(draft)))}", "count": 1, "cores": 4.0}
    if part == "kinds":
        names = set(draft.get("kinds") or {})
        return next(f"kind-{n}" for n in range(1, 1000) if f"kind-{n}" not in names), {}
    used = {each.get("policy") for each in arms(draft)}
    return {"policy": next((name for name in POLICIES if name not in used), next(iter(POLICIES)))}


def groups(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups of machines of a draft, which a file may give as one mapping."""
    found = draft.get("workers") or []
    return [found] if isinstance(found, dict) else [each for each in found if isinstance(each, dict)]


def arms(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The policies of a draft, which a file may give by name alone."""
    found = draft.get("policies") or []
    return [{"policy": each} if isinstance(each, str) else dict(each) for each in found]
