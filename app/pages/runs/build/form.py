"""The form of an experiment, made from the settings of its parts; a field's name is its value's path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from app.pages.runs.build.draft import JOBS, TIMES, listed_text, shown
from app.ui.basics import Node, button, data, icon, icon_button
from app.ui.forms import ORDER, control, field_id
from core.experiments.parts import (
    MAY_BE_NONE,
    SPANS,
    THREADS,
    Arrivals,
    Containers,
    Drawn,
    JobKind,
    WorkerGroup,
    World,
)
from core.experiments.spec import DOCKER, ENGINES, SIMULATED
from core.scheduling.policies import POLICIES
from core.settings_fields import FieldSpec, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORM = "run"
SHAPE = "run-shape"
"""Fields whose values decide which others there are."""
ENGINE = "engine"
FORM_ACT = "run-form-act"
_MAIN = ("like", "work", "demand", "weight")
_THREADS = FieldSpec(
    "threads",
    "choice",
    "",
    "Threads",
    "With how many threads its jobs compute, and whether that follows their cores.",
    choices=(("", "As the experiment says"), *THREADS.items()),
)
_SEEDS = (
    FieldSpec("count", "int", 30, "Seeds", "Every policy is run once on each.", low=1, high=10_000),
    FieldSpec("first", "int", 1, "First seed", "The others follow it.", low=0, high=2**31),
)


def _controls(
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


def _rest(cls: type[Any], main: Sequence[str]) -> list[str]:
    return [spec.name for spec in describe(cls) if spec.name not in main]


def _text(name: str, label: str, value: str, help_: str = "", **more: Any) -> html.Div:
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


def _act(act: str, place: object = "") -> dict[str, Any]:
    return data(act=act, id=place, store=FORM_ACT)


def _section(title: str, *body: Node, tools: Sequence[Node] = ()) -> html.Fieldset:
    head = [html.H2(title), html.Div(list(tools), className="tools")] if tools else [html.H2(title)]
    return html.Fieldset(
        [html.Legend(title, className="sr"), html.Div(head, className="parthead"), *body], className="part"
    )


def _item(title: str, controls: list[Node], act: str, place: int, more: Sequence[Node] = ()) -> html.Div:
    remove = icon_button("x", f"Remove {title}", **_act(act, place))
    return html.Div(
        [html.Div([html.H3(title), remove], className="row between"),
         html.Div(controls, className="formgrid"), *more],
        className="partitem",
    )  # fmt: skip


def _more(title: str, controls: list[Node]) -> html.Details:
    summary = html.Summary([icon("chevron-right", "sm"), title])
    return html.Details([summary, html.Div(controls, className="formgrid")], className="unfold")


def form(draft: Mapping[str, Any]) -> list[Node]:
    """All sections of the form.

    Parameters
    ----------
    draft
        An experiment's plain values, perhaps not all of them, perhaps wrong ones.
    """
    return [
        _section(
            "Experiment",
            html.Div(
                [
                    _text("name", "Name", str(draft.get("name") or "")),
                    _text("about", "About", str(draft.get("about") or "")),
                    _engine(draft),
                ],
                className="formgrid",
            ),
            *_containers(draft),
        ),
        _workers(draft),
        _jobs(draft),
        _section("Arrivals", html.Div(_arrivals(draft), className="formgrid")),
        _world(draft),
        _policies(draft),
        _section("Seeds", html.Div(_seeds(draft.get("seeds")), className="formgrid")),
    ]


def _real(draft: Mapping[str, Any]) -> bool:
    return draft.get("engine") == DOCKER


def _engine(draft: Mapping[str, Any]) -> html.Div:
    choice = dmc.Select(
        id=field_id(SHAPE, ENGINE),
        label="Engine",
        description="The simulator, or real containers, which take real time.",
        data=[{"value": name, "label": label} for name, label in ENGINES.items()],
        value=DOCKER if _real(draft) else SIMULATED,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
    )
    return html.Div(choice, className="field")


def _containers(draft: Mapping[str, Any]) -> list[Node]:
    if not _real(draft):
        return []
    return [html.Div(_controls(Containers, "docker", draft.get("docker") or {}), className="formgrid")]


def _workers(draft: Mapping[str, Any]) -> html.Fieldset:
    only = None if _real(draft) else _rest(WorkerGroup, ("host",))
    items = [
        _item(
            str(each.get("id", "worker")),
            _controls(WorkerGroup, f"workers/{at}", each, only),
            "drop-workers",
            at,
        )
        for at, each in enumerate(groups(draft))
    ]
    return _section(
        "Machines", *items, tools=[button("Add machines", "plus", "small", **_act("add-workers"))]
    )


def groups(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups of machines of a draft, which a file may give as one mapping."""
    found = draft.get("workers") or []
    return [found] if isinstance(found, dict) else [each for each in found if isinstance(each, dict)]


def _jobs(draft: Mapping[str, Any]) -> html.Fieldset:
    items, main = [], (*(("program",) if _real(draft) else ()), *_MAIN)
    for at, (name, kind) in enumerate((draft.get("kinds") or {}).items()):
        path = f"kinds/{at}"
        controls = [_text(f"{path}/name", "Name", name, "What its jobs are called in tables.")]
        controls += _controls(JobKind, path, kind or {}, main)
        more = _more(
            "Loss, checkpoints, steps",
            _controls(JobKind, path, kind or {}, _rest(JobKind, (*_MAIN, "program"))),
        )
        items.append(_item(name, controls, "drop-kinds", at, [more]))
    drawn = html.Div(_controls(Drawn, "drawn", draft.get("drawn") or {}), className="formgrid")
    jobs = draft.get("jobs") or []
    listed = dmc.Textarea(
        id=field_id(FORM, JOBS),
        label="Jobs by name, YAML",
        description="One on a line, beside or instead of drawn ones: - {id: first, kind: VAE, at: 0 s}",
        value=jobs if isinstance(jobs, str) else listed_text(jobs),
        autosize=True,
        minRows=2,
        maxRows=10,
        size="xs",
        className="monotext",
        inputWrapperOrder=ORDER,
    )
    return _section(
        "Jobs", *items, drawn, html.Div(listed, className="field"),
        tools=[button("Add a kind", "plus", "small", **_act("add-kinds"))],
    )  # fmt: skip


def _arrivals(draft: Mapping[str, Any]) -> list[Node]:
    given = draft.get("arrivals") or {}
    times = ", ".join(shown(each) for each in given.get("times") or [])
    help_ = "Seconds with commas between them, for “At listed times”."
    return [*_controls(Arrivals, "arrivals", given), _text(TIMES, "Times", times, help_)]


def _world(draft: Mapping[str, Any]) -> html.Fieldset:
    given, main = draft.get("world") or {}, ("gamma", "contention", "curves", "noise")
    return _section(
        "World",
        html.Div(_controls(World, "world", given, main), className="formgrid"),
        _more("Noise, claims, migrations, failures", _controls(World, "world", given, _rest(World, main))),
    )


def arms(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The policies of a draft, which a file may give by name alone."""
    found = draft.get("policies") or []
    return [{"policy": each} if isinstance(each, str) else dict(each) for each in found]


def _policies(draft: Mapping[str, Any]) -> html.Fieldset:
    given = arms(draft)
    items = [_arm(at, each, _real(draft)) for at, each in enumerate(given)]
    labels = [str(each.get("label") or each.get("policy")) for each in given]
    first = labels[0] if labels else ""
    value = draft.get("baseline") if draft.get("baseline") in labels else first
    baseline = dmc.Select(
        id=field_id(FORM, "baseline"),
        label="Baseline",
        description="The policy that the others are compared with.",
        data=list(dict.fromkeys(labels)),
        value=value,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
    )
    return _section(
        "Policies", *items, html.Div(html.Div(baseline, className="field"), className="formgrid"),
        tools=[button("Add a policy", "plus", "small", **_act("add-policies"))],
    )  # fmt: skip


def _arm(at: int, arm: Mapping[str, Any], real: bool) -> html.Div:
    name = str(arm.get("policy") or "")
    path = f"policies/{at}"
    choice = dmc.Select(
        id=field_id(SHAPE, f"{path}/policy"),
        label="Policy",
        description=POLICIES[name].about if name in POLICIES else None,
        data=[{"value": each, "label": each} for each in POLICIES],
        value=name if name in POLICIES else None,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
    )
    label = str(arm.get("label") or "")
    controls: list[Node] = [
        html.Div(choice, className="field wide"),
        _text(f"{path}/label", "Label", label, "In tables; the policy's name if empty.", placeholder=name),
    ]
    if real:
        controls.append(
            control(FORM, replace(_THREADS, name=f"{path}/threads"), str(arm.get("threads") or ""))
        )
    more: list[Node] = []
    if name in POLICIES and describe(POLICIES[name].settings):
        policy = POLICIES[name]
        values = {**policy.defaults, **(arm.get("settings") or {})}
        more = [_more(f"Settings of {name}", _controls(policy.settings, f"{path}/settings", values))]
    return _item(label or name or "Policy", controls, "drop-policies", at, more)


def settings_names(policy: str | None) -> set[str]:
    """The names of a policy's settings; none for a policy that is not known."""
    if policy is None or policy not in POLICIES:
        return set()
    return {spec.name for spec in describe(POLICIES[policy].settings)}


def _seeds(given: Any) -> list[Node]:
    values = {"count": 1, "first": 1}
    if isinstance(given, dict):
        values |= given
    elif isinstance(given, int):
        values["count"] = given
    elif isinstance(given, list) and given:
        values = {"count": len(given), "first": given[0]}
    return [control(FORM, replace(spec, name=f"seeds/{spec.name}"), values[spec.name]) for spec in _SEEDS]


def changed(draft: Mapping[str, Any], act: str, place: str) -> dict[str, Any]:
    """A draft with one part more or one less."""
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
