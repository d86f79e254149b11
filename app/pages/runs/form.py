"""The form of an experiment, made from the settings of its parts; a field's name is its value's path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import yaml
from dash import html

from app.pages.runs.draft import JOBS, PUBLISHED, RECORDED, TIMES, without_defaults
from app.pages.runs.stored import policy_title
from app.ui.basics import Node, button, data, icon, icon_button
from app.ui.forms import ORDER, control, field_id, select
from core.experiments.parts import (
    CONTAINER,
    MAY_BE_NONE,
    SPANS,
    TERMS,
    THREADS,
    Arrivals,
    Containers,
    DrawnJobs,
    JobKind,
    WorkerGroup,
    World,
)
from core.experiments.spec import ENGINES, SIMULATED
from core.scheduling.policies import POLICIES, display_name
from core.settings_fields import FieldSpec, describe
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The parts that the sections are made of.

FORM = "run"
SHAPE = "run-shape"
"""Fields whose values determine the other fields."""
FORM_ACT = "run-form-act"


def controls(
    cls: type[Any], path: str, values: Mapping[str, Any], only: Sequence[str] | None = None
) -> list[Node]:
    """The controls of a part at a path; spans and optional values are text fields."""
    fields: list[Node] = []
    for spec in describe(cls):
        if only is not None and spec.name not in only:
            continue
        value = values.get(spec.name, spec.default)
        if cls is JobKind and spec.name in (*SPANS, *MAY_BE_NONE):
            spec, value = replace(spec, kind="text"), field_text(value)  # noqa: PLW2901 - a field of text instead
        fields.append(control(FORM, replace(spec, name=f"{path}/{spec.name}"), value))
    return fields


def other_fields(cls: type[Any], main: Sequence[str]) -> list[str]:
    """The settings of a part except its main ones."""
    return [spec.name for spec in describe(cls) if spec.name not in main]


def text(name: str, label: str, value: str, help_: str = "", **more: Any) -> html.Div:
    """A field of text."""
    field = dmc.TextInput(
        id=field_id(FORM, name),
        label=label,
        description=help_ or None,
        value=value,
        size="xs",
        inputWrapperOrder=ORDER,
        **more,
    )
    return html.Div(field, className="field", **data(field=name))


def act_data(act: str, place: object = "") -> dict[str, Any]:
    """The action that a button of the form requests, as its attributes."""
    return data(act=act, id=place, store=FORM_ACT)


def section(title: str, *body: Node, tools: Sequence[Node] = ()) -> html.Fieldset:
    """A section of the form, with its buttons at the right of its title."""
    head = [html.H2(title), html.Div(list(tools), className="tools")] if tools else [html.H2(title)]
    return html.Fieldset(
        [html.Legend(title, className="sr"), html.Div(head, className="parthead"), *body], className="part"
    )


def item(title: str, controls: list[Node], act: str, place: int, below: Sequence[Node] = ()) -> html.Div:
    """One of several parts, with the button that removes it."""
    remove = icon_button("x", f"Remove {title}", **act_data(act, place))
    return html.Div(
        [html.Div([html.H3(title), remove], className="row between"),
         html.Div(controls, className="formgrid"), *below],
        className="partitem",
    )  # fmt: skip


def folded(title: str, controls: list[Node]) -> html.Details:
    """A folded group of controls."""
    summary = html.Summary([icon("chevron-right", "sm"), title])
    return html.Details([summary, html.Div(controls, className="formgrid")], className="unfold")


def field_text(value: Any) -> str:
    """A value in the format of its text field."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        low, high = (value[0], value[-1]) if value else ("", "")
        return field_text(low) if low == high else f"{field_text(low)} to {field_text(high)}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def listed_text(jobs: Sequence[Mapping[str, Any]]) -> str:
    """Listed jobs in the format of their field, one per line."""
    return "".join(
        yaml.dump([dict(job)], default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000)
        for job in jobs
    )


def recorded_text(kinds: Mapping[str, Any]) -> str:
    """Kinds with recorded losses or measured speeds in the format of their field."""
    plain_kinds = {
        name: {key: list(value) if isinstance(value, list) else value for key, value in kind.items()}
        for name, kind in kinds.items()
    }
    if not plain_kinds:
        return ""
    dumped: str = yaml.safe_dump(
        plain_kinds, default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000
    )
    return dumped


# Parts that can be added and removed.


def change_parts(draft: Mapping[str, Any], act: str, place: str) -> dict[str, Any]:
    """A draft with one part added or removed."""
    changed = dict(draft)
    verb, _, part = act.partition("-")
    lists: dict[str, list[Any]] = {
        "workers": list(draft.get("workers") or []),
        "kinds": list((draft.get("kinds") or {}).items()),
        "policies": list(draft.get("policies") or []),
    }
    if part not in lists:
        return changed
    items = lists[part]
    if verb == "add":
        items.append(_new(part, draft))
    elif place.isdecimal() and int(place) < len(items):
        items.pop(int(place))
    changed[part] = dict(items) if part == "kinds" else items
    return changed


def _new(part: str, draft: Mapping[str, Any]) -> Any:
    if part == "workers":
        return {"id": f"worker-{chr(ord('a') + len(draft.get('workers') or []))}", "count": 1, "cores": 4.0}
    if part == "kinds":
        names = set(draft.get("kinds") or {})
        return next(f"kind-{n}" for n in range(1, 1000) if f"kind-{n}" not in names), {}
    used_policies = {each.get("policy") for each in draft.get("policies") or []}
    return {"policy": next((name for name in POLICIES if name not in used_policies), next(iter(POLICIES)))}


# The sections.


_THREADS = FieldSpec(
    "threads",
    "choice",
    "",
    "Threads",
    "Number of threads of its jobs, or whether it follows their cores.",
    choices=(("", "As in the experiment"), *THREADS.items()),
)
_WATCH = FieldSpec(
    "watch",
    "bool",
    False,
    "Only watch",
    "Jobs keep their requests; the policy's allocations are only recorded.",
)


def policies(draft: Mapping[str, Any], *, real: bool) -> html.Fieldset:
    """The section of a draft's policies and its baseline."""
    arms = list(draft.get("policies") or [])
    items = [_arm(at, each, real) for at, each in enumerate(arms)]
    labels = {str(each.get("label") or each.get("policy")): str(each.get("policy")) for each in arms}
    baseline = html.Div(_baseline(labels, draft.get("baseline")), className="field")
    return section(
        "Policies",
        *items,
        html.Div(baseline, className="formgrid"),
        tools=[button("Add a policy", "plus", "small", **act_data("add-policies"))],
    )


def _baseline(labels: Mapping[str, str], chosen: Any) -> dmc.Select:
    first = next(iter(labels), "")
    return dmc.Select(
        id=field_id(FORM, "baseline"),
        label="Baseline",
        description="The policy that the others are compared with.",
        data=[{"value": label, "label": policy_title(label, policy)} for label, policy in labels.items()],
        value=chosen if chosen in labels else first,
        allowDeselect=False,
        size="xs",
        inputWrapperOrder=ORDER,
        rightSection=icon("selector", "sm"),
    )


def _arm(at: int, arm: Mapping[str, Any], real: bool) -> html.Div:
    name = str(arm.get("policy") or "")
    label = "" if arm.get("label") == name else str(arm.get("label") or "")
    path = f"policies/{at}"
    fields: list[Node] = [
        html.Div(_choice(path, name), className="field wide"),
        text(
            f"{path}/label",
            "Label",
            label,
            "In tables; the policy's name if empty.",
            placeholder=display_name(name),
        ),
    ]
    if real:
        threads = replace(_THREADS, name=f"{path}/threads")
        fields.append(control(FORM, threads, str(arm.get("threads") or "")))
    if name in POLICIES and POLICIES[name].sees_use:
        fields.append(control(FORM, replace(_WATCH, name=f"{path}/watch"), bool(arm.get("watch"))))
    settings = _settings(path, name, arm.get("settings") or {})
    return item(
        policy_title(label, name) if label else display_name(name) or "Policy",
        fields,
        "drop-policies",
        at,
        settings,
    )


def _choice(path: str, name: str) -> dmc.Select:
    is_known = name in POLICIES
    return select(
        field_id(SHAPE, f"{path}/policy"),
        [(each, display_name(each)) for each in POLICIES],
        name if is_known else None,
        label="Policy",
        description=POLICIES[name].about if is_known else None,
        inputWrapperOrder=ORDER,
    )


def _settings(path: str, name: str, changed: Mapping[str, Any]) -> list[Node]:
    """The folded controls of a policy's settings; empty if it has none."""
    if name not in POLICIES or not describe(POLICIES[name].settings):
        return []
    policy = POLICIES[name]
    values = {**policy.defaults, **changed}
    return [
        folded(f"Settings of {display_name(name)}", controls(policy.settings, f"{path}/settings", values))
    ]


def settings_names(policy: str | None) -> set[str]:
    """The names of a policy's settings; none for an unknown policy."""
    if policy is None or policy not in POLICIES:
        return set()
    return {spec.name for spec in describe(POLICIES[policy].settings)}


MORE = "Engine, arrivals, the rules of the world"
"""The title of what most experiments leave as it is."""
ENGINE = "engine"
_MAIN = ("like", "work", "demand", "weight")
_SEEDS = (
    FieldSpec("count", "int", 30, "Seeds", "Every policy runs once with each seed.", low=1, high=10_000),
    FieldSpec("first", "int", 1, "First seed", "The others count up from it.", low=0, high=2**31),
)


def form(draft: Mapping[str, Any]) -> list[Node]:
    """All sections of the form: name, machines, jobs, policies and seeds, and the rest folded."""
    name = text("name", "Name", str(draft.get("name") or ""))
    about = text("about", "About", str(draft.get("about") or ""))
    return [
        section("Experiment", html.Div([name], className="formgrid")),
        _workers(draft),
        _jobs(draft),
        policies(draft, real=_real(draft)),
        section("Seeds", html.Div(_seeds(draft.get("seeds")), className="formgrid")),
        html.Details(
            [
                html.Summary([icon("chevron-right", "sm"), MORE]),
                html.Div(
                    [
                        section(
                            "Engine",
                            html.Div([_engine(draft), about], className="formgrid"),
                            *_containers(draft),
                            *_published(draft),
                        ),
                        section("Arrivals", html.Div(_arrivals(draft), className="formgrid")),
                        _world(draft),
                    ],
                    className="stack",
                ),
            ],
            className="unfold more",
            open=_real(draft),
        ),
    ]


def _real(draft: Mapping[str, Any]) -> bool:
    engine = ENGINES.get(str(draft.get("engine")))
    return engine is not None and engine.real


def _engine(draft: Mapping[str, Any]) -> html.Div:
    choice = select(
        field_id(SHAPE, ENGINE),
        ((name, each.title) for name, each in ENGINES.items()),
        draft["engine"] if draft.get("engine") in ENGINES else SIMULATED,
        label="Engine",
        description="The simulator, or real containers, which take real time.",
        inputWrapperOrder=ORDER,
    )
    return html.Div(choice, className="field")


def _containers(draft: Mapping[str, Any]) -> list[Node]:
    if not _real(draft):
        return []
    return [html.Div(controls(Containers, "docker", draft.get("docker") or {}), className="formgrid")]


def _workers(draft: Mapping[str, Any]) -> html.Fieldset:
    only = None if _real(draft) else other_fields(WorkerGroup, ("host",))
    items = [
        item(
            str(each.get("id", "worker")),
            controls(WorkerGroup, f"workers/{at}", each, only),
            "drop-workers",
            at,
        )
        for at, each in enumerate(draft.get("workers") or [])
    ]
    return section(
        "Machines", *items, tools=[button("Add machines", "plus", "small", **act_data("add-workers"))]
    )


def _jobs(draft: Mapping[str, Any]) -> html.Fieldset:
    real = _real(draft)
    kinds = draft.get("kinds") or {}
    plain_kinds = {name: kind for name, kind in kinds.items() if not _measured(kind)}
    items = [_job_kind(at, *each, real=real) for at, each in enumerate(plain_kinds.items())]
    drawn_jobs = html.Div(controls(DrawnJobs, "drawn", draft.get("drawn") or {}), className="formgrid")
    return section(
        "Jobs",
        *items,
        drawn_jobs,
        _named_jobs(draft.get("jobs") or []),
        *_recorded({name: kind for name, kind in kinds.items() if name not in plain_kinds}),
        tools=[button("Add a kind", "plus", "small", **act_data("add-kinds"))],
    )


def _job_kind(at: int, name: str, kind: Mapping[str, Any] | None, *, real: bool) -> html.Div:
    path, values = f"kinds/{at}", kind or {}
    main = (*(CONTAINER if real else ()), *_MAIN)
    fields = [text(f"{path}/name", "Name", name, "The name of its jobs in tables.")]
    fields += controls(JobKind, path, values, main)
    others = controls(JobKind, path, values, other_fields(JobKind, (*_MAIN, *CONTAINER, *TERMS)))
    terms = controls(JobKind, path, values, TERMS)
    parts = [
        folded("Loss, checkpoints, steps", others),
        folded("Request, deadline, memory, threads, speed-up", terms),
    ]
    return item(name, fields, "drop-kinds", at, parts)


def _named_jobs(jobs: str | Sequence[Mapping[str, Any]]) -> html.Details:
    """The field of jobs by name, open where there are some."""
    return _folded("Jobs by name", _listed_jobs(jobs), is_open=bool(jobs))


def _listed_jobs(jobs: str | Sequence[Mapping[str, Any]]) -> dmc.Textarea:
    help_ = "One per line, with or instead of drawn jobs: - {id: first, kind: VAE, at: 0 s}"
    value = jobs if isinstance(jobs, str) else listed_text(jobs)
    return _yaml_area(JOBS, "Jobs by name, YAML", help_, value)


def _yaml_area(name: str, label: str, help_: str, value: str) -> dmc.Textarea:
    return dmc.Textarea(
        id=field_id(FORM, name),
        label=label,
        description=help_,
        value=value,
        autosize=True,
        minRows=2,
        maxRows=10,
        size="xs",
        className="monotext",
        inputWrapperOrder=ORDER,
    )


def _measured(kind: Any) -> bool:
    """Whether a kind has lists of numbers, which have no controls."""
    return isinstance(kind, dict) and bool(kind.get("losses") or kind.get("throughput"))


def _recorded(kinds: Mapping[str, Any]) -> list[Node]:
    """A field of kinds with recorded losses or measured speeds; empty without any."""
    if not kinds:
        return []
    text_ = recorded_text(without_defaults({"kinds": kinds})["kinds"])
    help_ = "Losses at even shares of the training, and speeds as measured: [cores, steps per second]."
    area = _yaml_area(RECORDED, "Kinds with recorded losses or measured speeds, YAML", help_, text_)
    return [_folded(f"Recorded losses and speeds of {plural(len(kinds), 'kind')}", area)]


def _published(draft: Mapping[str, Any]) -> list[Node]:
    """A folded field of published figures; empty without any."""
    figures = draft.get("published")
    if not figures:
        return []
    help_ = "Shown next to the results; no run depends on them."
    text_ = figures if isinstance(figures, str) else listed_text(figures)
    return [_folded("Published figures", _yaml_area(PUBLISHED, "Published figures, YAML", help_, text_))]


def _folded(title: str, area: dmc.Textarea, *, is_open: bool = False) -> html.Details:
    summary = html.Summary([icon("chevron-right", "sm"), title])
    return html.Details([summary, html.Div(area, className="field")], className="unfold", open=is_open)


def _arrivals(draft: Mapping[str, Any]) -> list[Node]:
    values = draft.get("arrivals") or {}
    times = ", ".join(field_text(each) for each in values.get("times") or [])
    help_ = "Seconds, separated by commas, for “At listed times”."
    return [*controls(Arrivals, "arrivals", values), text(TIMES, "Times", times, help_)]


def _world(draft: Mapping[str, Any]) -> html.Fieldset:
    values, main = draft.get("world") or {}, ("gamma", "contention", "curves", "noise")
    return section(
        "World",
        html.Div(controls(World, "world", values, main), className="formgrid"),
        folded(
            "Noise, claims, migrations, failures", controls(World, "world", values, other_fields(World, main))
        ),
    )


def _seeds(seeds: Any) -> list[Node]:
    values = {"count": 1, "first": 1}
    if isinstance(seeds, dict):
        values |= seeds
    elif isinstance(seeds, list) and seeds:
        values = {"count": len(seeds), "first": seeds[0]}
    return [control(FORM, replace(spec, name=f"seeds/{spec.name}"), values[spec.name]) for spec in _SEEDS]
