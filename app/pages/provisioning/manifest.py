"""The card of the export: the chosen policies, per workload, as the files that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.query import FORMATS, RESOURCES
from app.ui.basics import Node, aria, card, data, icon, notice
from app.ui.links import segments
from core.errors import PhaseDockError

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.query import View
    from app.ui.evaluations import Result
    from core.provisioning.verdict.answer import Verdict

_SHOWN_CHARACTERS = 12_000


def manifest_card(found: Verdict, result: Result, view: View, choice: Choice) -> html.Section:
    """The tabs of formats, and the file in the chosen one."""
    tabs = segments(view, "format", FORMATS, view.form, "Format of the export")
    body = html.Div([_what(found), *_export(tabs, result, view, choice)], className="stack")
    return card("Set it", body, class_name="setit")


def _what(found: Verdict) -> Node:
    """Which policies are exported."""
    chosen = [
        f"{RESOURCES[resource.value]}: {each.policy}" for resource, each in found.picks.items() if each.policy
    ]
    text = (
        ". A manifest holds one amount for a container’s whole life. Where a policy changes what it gives, "
        "that is a fixed amount with the same promise, judged on its own."
    )
    return html.P([html.B(", ".join(chosen)), text], className="small ink2") if chosen else None


def _export(tabs: Node, result: Result, view: View, choice: Choice) -> list[Node]:
    try:
        text = results.manifest(choice, result, view, view.form)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    tools = _file_tools(results.manifest_address(choice, result, view, view.form))
    long = len(text) > _SHOWN_CHARACTERS
    cut = "The file is longer than what is shown here; download it for the rest."
    return [
        html.Div([tabs, tools], className="row between wrap"),
        _manifest(text[:_SHOWN_CHARACTERS] + "\n…" if long else text, view.form),
        html.P(cut, className="small ink3") if long else None,
    ]


def _file_tools(address: str) -> html.Div:
    """The buttons that copy and download the file."""
    return html.Div(
        [
            html.Button(
                [icon("copy"), html.Span("Copy", **data(label="true"))],
                type="button",
                className="btn small",
                **data(fetch=address),
            ),
            html.A([icon("download"), "Download"], href=address, className="btn small", download=""),
        ],
        className="row",
    )


def _manifest(text: str, form: str) -> html.Pre:
    return html.Pre(
        text,
        className="manifest" if form in ("json", "csv") else "manifest wrap",
        tabIndex="0",
        role="region",
        **aria(label=f"Verdict, {FORMATS[form]}"),
    )
