"""The list of executions at the left, which the browser fills, searches and orders; on a phone a picker."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import dcc, html

from app.ui.basics import Node, aria, card, icon, icon_button, opener
from app.ui.grid import grid

_ORDERS = {
    "file": "As in the file",
    "name": "Name",
    "seconds": "Longest first",
    "runs": "Most segments first",
    "strange": "Most unfamiliar first",
}


def executions_card(rows: str, count: int, selected: str) -> Node:
    """The card with the list."""
    return card(
        "Executions",
        html.Div(_find(), className="find"),
        dcc.Store(id="execution-rows", data=rows),
        html.Div(_list(selected), className="grow"),
        note=f"{count:,}",
        tools=[_order()],
        flush=True,
        class_name="executions",
    )


def _find() -> dmc.TextInput:
    return dmc.TextInput(
        id="find-execution",
        placeholder="Find by name or workload",
        leftSection=html.Span(className="icon i-search"),
        size="xs",
        **aria(label="Find an execution"),
    )


def _list(selected: str) -> Node:
    column = {
        "colId": "name",
        "headerName": "Execution",
        # a cell is drawn again when its value changes, as a strip does with another minimum dwell time
        "valueGetter": {"function": "params.data.name + params.data.strip"},
        "cellRenderer": "ExecutionCell",
        "flex": 1,
        "getQuickFilterText": {"function": "params.data.name + ' ' + params.data.note"},
    }
    return grid(
        "executions",
        [column],
        [],
        height="100%",
        options={
            "rowHeight": 54,
            "headerHeight": 0,
            "suppressCellFocus": False,
            "suppressHeaderFocus": True,
            "context": {"chosen": selected},
            "rowClassRules": {"chosen": "isChosenExecution(params)"},
        },
        columnSize=None,
        getRowId="params.data.name",
        scrollTo={"rowId": selected, "rowPosition": "middle"},
    )


def _order() -> dmc.Menu:
    orders = [dmc.MenuItem(label, id={"type": "order", "by": key}) for key, label in _ORDERS.items()]
    target = dmc.MenuTarget(icon("sort-descending"), boxWrapperProps=opener("Order of the executions"))
    return dmc.Menu([target, dmc.MenuDropdown(orders)])


def phone_picker(names: list[str], selected: str) -> Node:
    """A choice of the execution, and the ways to its neighbours."""
    return html.Div(
        [
            dmc.Select(
                id="phone-execution",
                label="Execution",
                data=names,
                value=selected,
                searchable=True,
                allowDeselect=False,
                limit=100,
            ),
            icon_button("chevron-left", "Previous execution", id="step-back", class_name="boxed"),
            icon_button("chevron-right", "Next execution", id="step-on", class_name="boxed"),
        ],
        className="phone-pick",
    )
