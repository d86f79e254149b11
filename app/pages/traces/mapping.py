"""The screen between an upload and its import: the form, its evidence, the name, and the button.

The evidence is what the file's first part looks like as it is mapped now: miniatures of a few executions
and what the import would say, so that a wrong unit or a wrong column is seen before anything is imported.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
import numpy as np
from dash import Input, Output, State, dcc, html

from app.context import LOCATION, workspace
from app.figures.timeline import Series, timeline
from app.pages.traces.import_card import problem_table
from app.pages.traces.listing import does
from app.pages.traces.mapping_form import (
    RESAMPLING_HELP,
    SAID,
    SHOWN,
    UNIT_BOX,
    field_id,
    follow_rows,
    form,
    picked,
    preview,
    recognised,
)
from app.pages.traces.mapping_values import (
    ASKED,
    FIELDS,
    LIKELY,
    answered,
    asked,
    fields,
    mapping_of,
    needs_machine,
    open_questions,
    suggested,
)
from app.ui.basics import Node, aria, button, card, icon, link_button, notice
from app.ui.graph import graph
from app.ui.page import sentences
from core.errors import InputError, PhaseDockError
from core.reading.mapping import INTERVAL
from core.traces.model import ROLE_NAMES, ROLE_UNITS, Resampling, Role, unit_scale
from core.traces.validation import UnusableError
from core.units import format_bytes, format_duration, format_list, format_value, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash

    from core.reading.mapping import ColumnMapping
    from core.reading.questions import Question
    from core.traces.model import Execution, Feature, TraceSet


EXECUTIONS_SHOWN = 3
_HEIGHT, _TICKS = 190, 4


def evidence(upload_id: str, mapping: ColumnMapping) -> Node:
    """Three executions of the file's first part as mapped, and what is odd about them."""
    try:
        part: Any = workspace().uploads.read_first_part(upload_id, mapping)
    except UnusableError as error:
        return notice("warn", error.hint, strong="Nothing of the first rows can be used so.")
    except InputError as error:
        return notice("warn", error.hint, strong=error.message)
    if part is None:
        return html.P("The file is too large for a look before the import.", className="small ink3")
    return html.Div([_said(part), _doubts(part), miniatures(part.traces)], className="stack")


def miniatures(traces: TraceSet) -> html.Div:
    """Three executions, each quantity in one unit for all of them."""
    charts = [_chart(number, traces, name) for number, name in enumerate(_likely(traces))]
    return html.Div(charts, className="minis")


def _said(part: Any) -> html.P:
    """What was read, in one line."""
    traces = part.traces
    where = "in all" if part.whole else "in the first part"
    words = [
        f"{plural(traces.n_executions, 'execution')} {where}",
        f"a sample every {format_duration(traces.period)}",
        *(_most(feature, values) for feature, values in zip(traces.features, traces.columns, strict=True)),
    ]
    return html.P(" · ".join(word for word in words if word), className="small ink2")


def _most(feature: Feature, values: np.ndarray[tuple[int], np.dtype[np.floating]]) -> str:
    if feature.role not in ROLE_NAMES or not np.isfinite(values).any():
        return ""
    return f"{ROLE_NAMES[feature.role]} up to {format_value(float(np.nanmax(values)), feature.unit)}"


def _doubts(part: Any) -> Node:
    """What does not look like containers; and rows that would be lost."""
    said = [doubt.sentence for doubt in part.doubts]
    # in parts that were cut, a partner may lie behind the cut
    quiet = {"doubtful", "assumed_unit", "assumed_zone", *(() if part.whole else ("no_partner",))}
    harmful = [one for one in part.report.harmful if one.kind not in quiet]
    said += [f"{one.message} {one.hint}" if one.kind == "no_partner" else one.message for one in harmful]
    said += [one.message for one in part.report.harmful if one.kind == "doubtful" and one.message not in said]
    if not said:
        return None
    listed = html.Ul(
        [html.Li([icon("alert-triangle"), sentence]) for sentence in said[:6]], className="doubts"
    )
    return html.Div(listed, className="notice warn")


def _likely(traces: TraceSet) -> list[str]:
    """Three executions to look at: the longest of those that are there."""
    lengths = np.diff(traces.offsets)
    order = np.argsort(-lengths, kind="stable")[:EXECUTIONS_SHOWN]
    return [traces.ids[i] for i in sorted(order)]


def _chart(number: int, traces: TraceSet, name: str) -> html.Div:
    execution = traces.execution(name)
    series = _series(execution, traces)
    figure = timeline(execution.elapsed, series)
    figure.update_layout(height=_HEIGHT)
    figure.for_each_yaxis(lambda axis: axis.update(nticks=_TICKS))
    label = f"{name}: {', '.join(one.title for one in series)} over time"
    return html.Div(
        [html.Div(name, className="strong truncate"), graph(f"evidence-{number}", figure, label)],
        className="mini",
    )


def _series(execution: Execution, traces: TraceSet) -> list[Series]:
    """The first two features with a role, or the first two at all; in one unit for all executions."""
    known = [feature for feature in traces.features if feature.role in ROLE_NAMES]
    scales = {
        feature.name: unit_scale(feature.unit, values)
        for feature, values in zip(traces.features, traces.columns, strict=True)
    }
    return [
        Series(
            ROLE_NAMES.get(feature.role, feature.name),
            execution.columns[feature.name],
            feature.unit,
            scale=scales[feature.name],
        )
        for feature in (known or list(traces.features))[:2]
    ]


ANSWERED = ("time_unit", "period", "cpu", "cpu_unit", "memory", "memory_unit", "features", "answers")
"""The fields of the form that answers to questions fill in."""
MEASURED = ("features", "answers", "cpu", "memory")
"""The fields of the form that say what further features measure."""
_SUFFIXES = re.compile(r"(\.(csv|tsv|txt|jsonl?|ndjson|parquet|pq|gz|zip|bz2|xz|zst))+$", re.IGNORECASE)


def set_name(file_name: str) -> str:
    """A name for the set of a file: the file's, without its endings."""
    return " + ".join(_SUFFIXES.sub("", part) or part for part in file_name.split(" + "))


def mapping_view(upload_id: str, as_written: bool = False) -> Node:
    """The form for one upload; a file that cannot be read gets its reason and the ways out."""
    uploads = workspace().uploads
    try:
        info = uploads.get(upload_id)
        inspection: Any = uploads.inspect(upload_id, as_written)
    except PhaseDockError as error:
        return _unreadable(upload_id, error)
    several = uploads.is_joined(upload_id)
    # of another file of unnamed values, what was chosen for CPU would be taken for memory
    nameless = any(one.role and not one.candidates for one in inspection.questions)
    before = None if nameless else uploads.chosen_before(upload_id, as_written)
    mapping = before[0] if before else inspection.mapping
    values = suggested(mapping)
    count = f"about {inspection.n_rows:,} rows" if inspection.n_rows else None
    facts = [format_bytes(info.size), f"{len(inspection.columns):,} columns", count]
    columns = card(
        info.name,
        recognised(inspection) if before is None else _as_before(before[1]),
        html.Div(id="map-questions"),
        form(inspection, mapping, several),
        note=" · ".join(fact for fact in facts if fact),
        tools=[_one_by_one(upload_id)] if several else _other_reading(upload_id, inspection, as_written),
        class_name="mapcard",
    )
    looks = card(
        "How it looks",
        html.Div(id="map-evidence", **aria(live="polite")),
        note="executions of your files, joined" if several else "executions of your file, as mapped",
    )
    asks = mapping is None or bool(mapping.unknown)
    return html.Div(
        [
            dcc.Store(id="map-upload", data={"id": upload_id, "as_written": as_written}),
            dcc.Store(id=field_id("answers"), data=values["answers"]),
            *((columns, looks) if asks else (looks, columns)),
            _found(inspection),
            card(
                "First rows joined" if several else "First rows",
                html.Div(preview(inspection, values), id="map-preview"),
                note="marked columns will be read",
                flush=True,
            ),
            _bar(info.name, upload_id),
        ],
        className="stack",
    )


def _one_by_one(upload_id: str) -> Node:
    return button("Import one by one", "git-branch", "small", **does("separate", upload_id))


def _other_reading(upload_id: str, inspection: Any, as_written: bool) -> list[Node]:
    """The way to read a table of series as it is written, and back."""
    if as_written:
        return [link_button("Read it as series", f"/traces?upload={upload_id}", "refresh", "small")]
    if not inspection.turned:
        return []
    title = "Take its columns for columns, not for executions or metrics"
    return [
        link_button(
            "Read it as a plain table", f"/traces?upload={upload_id}&as=table", "table", "small", title=title
        )
    ]


def _as_before(file_name: str) -> Node:
    """That the columns are those of an earlier file."""
    said = f"You chose these columns for “{file_name}”, which has the same header."
    return notice("info", "Change what is different here.", strong=said)


def _found(inspection: Any) -> Node:
    if not inspection.problems:
        return None
    return card(
        "Found so far",
        problem_table(inspection.problems, "Found in the first rows"),
        note="in the first part of the file; the import checks every row",
        flush=True,
    )


def _bar(file_name: str, upload_id: str) -> html.Div:
    """The end of the form, always in sight: what is wrong, the name, and the button."""
    return html.Div(
        [
            html.Div(id="map-state", className="grow", role="status"),
            dmc.TextInput(id="map-name", label="Name of the set", value=set_name(file_name), debounce=True),
            button("Discard", "trash", "", **does("discard", upload_id)),
            button("Import", "database", "", id="map-import"),
            button("Import and find phases", "timeline", "primary", id="map-find"),
        ],
        className="card importbar",
    )


def _unreadable(upload_id: str, error: PhaseDockError) -> Node:
    message, hint = sentences(error)
    ways = [
        *([_one_by_one(upload_id)] if workspace().uploads.is_joined(upload_id) else []),
        button("Choose another file", "file-import", "small choose-file"),
        button("Discard this one", "trash", "small", **does("discard", upload_id)),
        link_button("Back to trace sets", "/traces", "arrow-back-up", "small"),
    ]
    return notice("bad", hint, strong=message, actions=ways)


def _wrong(error: InputError) -> Node:
    return html.Span([icon("circle-x"), html.B(error.message), " ", error.hint], className="bad")


def _verdict(values: dict[str, Any], mapping: ColumnMapping) -> tuple[Node, bool]:
    """What would be imported, in a sentence, and whether it can be imported."""
    if mapping.unknown:
        name = mapping.unknown[0]
        if name == INTERVAL:
            said = "Say how many seconds are between two rows."
            return html.Span([icon("alert-triangle"), html.B(said)], className="warn"), False
        open_role = any(one.column == name and one.role is Role.OTHER for one in mapping.features)
        said = f"Say what “{name}” measures." if open_role else f"Choose the unit of “{name}”."
        return html.Span([icon("alert-triangle"), html.B(said)], className="warn"), False
    cores, memory = needs_machine(values)
    notes = []
    if not any(one.role in ROLE_UNITS for one in mapping.features):
        names = ", ".join(f"“{one.column}”" for one in mapping.features[:3])
        notes.append(f"Nothing says what {names} measures: choose it for CPU or memory if it is one of them.")
    if cores and mapping.cores is None:
        notes.append("CPU is kept as a share, because the cores of the machine are not known.")
    if memory and mapping.memory_bytes is None:
        notes.append("Memory is kept as a share, because the memory of the machine is not known.")
    if notes:
        return html.Span([icon("info-circle"), " ".join(notes)], className="ink2"), True
    return html.Span([icon("circle-check"), _what(mapping)], className="ink2"), True


def _what(mapping: ColumnMapping) -> str:
    """What will be read, in a sentence."""
    roles = [one.role for one in mapping.features]
    parts = [word for role, word in ((Role.CPU, "CPU"), (Role.MEMORY, "memory")) if role in roles]
    further = len(roles) - len(parts)
    if further:
        parts.append(f"{further} further feature{'s' if further != 1 else ''}")
    listed = format_list(parts)
    return f"{listed[0].upper()}{listed[1:]} will be read."


def register(app: Dash) -> None:
    """Let the preview follow the form, and the button import."""
    app.callback(
        output={
            "preview": Output("map-preview", "children"),
            "questions": Output("map-questions", "children"),
            "evidence": Output("map-evidence", "children"),
            "state": Output("map-state", "children"),
            "blocked": Output("map-import", "disabled"),
            "not_yet": Output("map-find", "disabled"),
            "time_unit": Output(field_id("time_unit"), "disabled"),
            "cpu_unit": Output(field_id("cpu_unit"), "disabled"),
            "memory_unit": Output(field_id("memory_unit"), "disabled"),
            "resampling": Output(field_id("resampling"), "description"),
            "cores": Output("map-cores-box", "hidden"),
            "memory": Output("map-memory-gib-box", "hidden"),
        },
        inputs={
            "values": {field: Input(field_id(field), _holds(field)) for field in FIELDS},
            "upload": State("map-upload", "data"),
        },
    )(follow)
    app.callback(
        [Output(field_id(field), _holds(field)) for field in ANSWERED],
        Input({"type": ASKED, "what": dash.ALL, "column": dash.ALL}, "value"),
        Input({"type": LIKELY, "what": dash.ALL, "column": dash.ALL, "value": dash.ALL}, "n_clicks"),
        Input({"type": SAID, "what": dash.ALL, "column": dash.ALL}, "value"),
        {field: State(field_id(field), _holds(field)) for field in FIELDS},
        State("map-upload", "data"),
        prevent_initial_call=True,
    )(answer)
    app.callback(
        output={
            "rows": Output("map-roles", "children"),
            "units": Output({"type": UNIT_BOX, "column": dash.ALL}, "children"),
            "hidden": Output("map-roles-box", "hidden"),
            "title": Output("map-roles-title", "children"),
        },
        inputs={
            "values": {field: Input(field_id(field), _holds(field)) for field in MEASURED},
            "upload": State("map-upload", "data"),
            "roles": _shown_of("role"),
            "units": _shown_of("unit"),
        },
    )(follow_rows)
    app.callback(
        output=Output(LOCATION, "search", allow_duplicate=True),
        inputs={
            "clicks": Input("map-import", "n_clicks"),
            "finds": Input("map-find", "n_clicks"),
            "values": {field: State(field_id(field), _holds(field)) for field in FIELDS},
            "name": State("map-name", "value"),
            "upload": State("map-upload", "data"),
        },
        prevent_initial_call=True,
    )(start)


def _shown_of(what: str) -> dict[str, State]:
    """The controls of the further features' roles or units, as they are shown."""
    return {name: State({"type": SAID, "what": what, "column": dash.ALL}, name) for name in SHOWN}


def _holds(field: str) -> str:
    """The property of a field's component that holds its value."""
    return "data" if field == "answers" else "value"


def _inspected(upload: Mapping[str, Any]) -> Any:
    return workspace().uploads.inspect(upload["id"], upload["as_written"])


def answer(
    _chosen: list[str | None],
    _clicked: list[int | None],
    _said: list[str | None],
    values: dict[str, Any],
    upload: dict[str, Any],
) -> list[Any]:
    """Fill the form in with the answer to a question, or with what was chosen in a row."""
    changed: dict[str, Any] = {}
    for each in dash.ctx.triggered:
        asked_of = dash.ctx.triggered_prop_ids.get(each["prop_id"])
        if not each["value"] or not asked_of:
            continue
        given = asked_of.get("value", each["value"])  # a button has the answer in its id
        fill_in = picked if asked_of["type"] == SAID else answered
        now = {**values, **changed}
        changed |= fill_in(asked_of["what"], asked_of["column"], given, now, _inspected(upload))
    return fields(changed, ANSWERED)


def follow(values: dict[str, Any], upload: dict[str, Any]) -> dict[str, Any]:
    """Show the effect of the form: questions, evidence, preview, verdict, and which fields apply."""
    inspection = _inspected(upload)
    said: Node
    shown: Node = None
    questions: list[Question] = []
    try:
        mapping = mapping_of(values, inspection.mapping)
    except InputError as error:
        said, good = _wrong(error), False
    else:
        said, good = _verdict(values, mapping)
        questions = open_questions(mapping, inspection)
        shown = evidence(upload["id"], mapping) if good else _waits(upload["id"], mapping)
    cores, memory = needs_machine(values)
    absent = {key: not (values[key] or "").strip() for key in ("time", "cpu", "memory")}
    return {
        "preview": preview(inspection, values),
        "questions": asked(questions, values),
        "evidence": shown,
        "state": said,
        "blocked": not good,
        "not_yet": not good,
        **{f"{key}_unit": gone for key, gone in absent.items()},
        "resampling": RESAMPLING_HELP[Resampling(values["resampling"])],
        "cores": not cores,
        "memory": not memory,
    }


def _waits(upload_id: str, mapping: ColumnMapping) -> Node:
    """What is drawn before all questions are answered: without times, the rows as if they were 1 s apart."""
    if mapping.unknown == (INTERVAL,):
        drawn = html.P("Drawn as if there were 1 s between two rows.", className="small ink3")
        return html.Div([drawn, evidence(upload_id, replace(mapping, period=1.0))], className="stack")
    return html.P("Three of your executions are drawn here once every unit is known.", className="small ink3")


def start(
    clicks: int | None, finds: int | None, values: dict[str, Any], name: str, upload: dict[str, Any]
) -> Any:
    """Import the file as the form says, and find its phases if asked; returns the address of the import."""
    if not clicks and not finds:
        return dash.no_update
    uploads = workspace().uploads
    upload_id = upload["id"]
    mapping = mapping_of(values, _inspected(upload).mapping)
    file_name = uploads.get(upload_id).name
    called = (name or "").strip() or set_name(file_name)
    return f"?task={uploads.accept(upload_id, mapping, called, find_phases=bool(finds))}"
