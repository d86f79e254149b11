"""How pages draw a `core.tables.Table`: as HTML, as a sortable grid, and as a file to download.

A page makes a table once and hands it to these renderers. A cell may be drawn with more than its text (a
link, a badge, a bar), but its text stays that of the column::

    COLUMNS = (Column("worker", "Worker"), Column("busy", "Busy", format_share))

    @table_route(blueprint, "/api/runs/<run>/workers.csv")
    def workers(run: str) -> Table:
        return Table(f"{run}-workers", COLUMNS, load_workers(run))

    def workers_card(run: str) -> html.Section:
        table = html_table(workers(run), "Workers", cells={"worker": lambda row: phase_badge(row.phase)})
        return card("Workers", table, tools=[download("workers", f"/api/runs/{run}/workers.csv")])

The grid's theme is made of the page's own CSS variables, so it follows the colour scheme by itself.
Renderers of its cells (strip, badge, bar) are in ``assets/js/dashAgGridComponentFunctions.js``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import html
from flask import Response, stream_with_context

from app.ui.basics import aria, data, icon, opener, scrolling
from core import units
from core.tables import Column, Table, render_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flask import Blueprint

    from app.ui.basics import Node


MakeTable = TypeVar("MakeTable", bound="Callable[..., Table]")
#: The tables that can be downloaded, by the endpoint that makes them.
TABLES: dict[str, Callable[..., Table]] = {}


def file_answer(content: Iterable[str] | bytes, name: str, mimetype: str = "text/csv") -> Response:
    """A file to download; text is streamed."""
    quoted = re.sub(r"[^\w.\-]+", "_", name, flags=re.ASCII)
    body: Any = content if isinstance(content, bytes) else stream_with_context(iter(content))
    return Response(
        body, mimetype=mimetype, headers={"Content-Disposition": f'attachment; filename="{quoted}"'}
    )


def table_route(blueprint: Blueprint, rule: str) -> Callable[[MakeTable], MakeTable]:
    """Serve the table that a function makes as CSV; the parts of `rule` in ``<>`` are its arguments."""

    def register(make: MakeTable) -> MakeTable:
        def answer(**parts: str) -> Response:
            table = make(**parts)
            return file_answer(render_csv(table), f"{table.name}.csv")

        blueprint.add_url_rule(rule, endpoint=make.__name__, view_func=answer)
        TABLES[f"{blueprint.name}.{make.__name__}"] = make
        return make

    return register


def html_table(  # noqa: PLR0913 - each option draws another part of a table
    table: Table,
    label: str,
    *,
    cells: Mapping[str, Callable[[Any], Node]] | None = None,
    heads: Mapping[str, Node] | None = None,
    css: Mapping[str, str] | None = None,
    attributes: Callable[[Any], Mapping[str, Any]] | None = None,
    row_heads: bool = False,
    table_class: str = "plain",
    fit: str = "",
) -> html.Div:
    """A short table; long ones are grids.

    `cells` draws the cells of some columns from their row, `heads` replaces titles (a ``html.Th`` whole
    heads), `css` adds classes to columns, and `attributes` attributes to a row, such as its class;
    `row_heads` makes the first column heads; `fit` is the class of the area that scrolls, such as ``tall``.
    """
    columns, cells, heads, css = table.titled, cells or {}, heads or {}, css or {}
    classes = [" ".join(filter(None, ("num" if c.is_right else "", css.get(c.key, "")))) for c in columns]
    pairs = list(zip(columns, classes, strict=True))
    body = []
    for row in table.rows:
        row_cells: list[Node] = []
        for (column, class_name), text in zip(pairs, table.texts(row), strict=True):
            content = cells[column.key](row) if column.key in cells else text
            cell = partial(html.Th, scope="row") if row_heads and not row_cells else html.Td
            row_cells.append(cell(content, className=class_name))
        body.append(html.Tr(row_cells, **(attributes(row) if attributes else {})))
    whole = html.Table(
        [
            html.Caption(label, className="sr"),
            html.Thead(html.Tr([_head(c, name, heads.get(c.key)) for c, name in pairs])),
            html.Tbody(body),
        ],
        className=table_class,
        **data(table=table.name),
    )
    return scrolling(whole, label, fit)


def _head(column: Column, class_name: str, head: Node) -> html.Th:
    if isinstance(head, html.Th):
        return head
    return html.Th(column.title if head is None else head, className=class_name, scope="col")


_THEME = """themeQuartz.withParams({
  backgroundColor:'var(--surface)',foregroundColor:'var(--ink)',headerBackgroundColor:'var(--surface)',
  headerTextColor:'var(--ink3)',headerFontWeight:400,headerFontSize:12,fontSize:12.5,fontFamily:'var(--sans)',
  borderColor:'var(--line)',rowBorder:{color:'var(--line)'},columnBorder:false,wrapperBorder:false,
  wrapperBorderRadius:0,rowHoverColor:'var(--sunken)',selectedRowBackgroundColor:'var(--accent-tint)',
  accentColor:'var(--accent)',cellHorizontalPadding:14,rowHeight:33,headerHeight:34,headerColumnResizeHandleColor:'transparent',
  inputFocusBorder:{color:'var(--accent)'},focusShadow:'none',browserColorScheme:'inherit'})"""

_ROW, _HEADER = 33, 34

_OPTIONS: dict[str, Any] = {
    "theme": {"function": _THEME},
    "suppressCellFocus": True,
    # arrow keys go through a table; Tab goes on to what is behind it, not through every cell
    "tabToNextCell": {"function": "phasedockTable.leave(params)"},
    "tabToNextHeader": {"function": "phasedockTable.enter(params)"},
    "animateRows": False,
    "enableCellTextSelection": True,
    "ensureDomOrder": True,
    "tooltipShowDelay": 400,
}


# What writes a value in the browser as a function of `core.units` does on the server (``format.js``).
_BROWSER_WRITERS: dict[Callable[..., str], str] = {
    units.format_bytes: "bytes",
    units.format_change: "change",
    units.format_cores: "cores",
    units.format_count: "count",
    units.format_duration: "duration",
    units.format_number: "number",
    units.format_rate: "rate",
    units.format_share: "share",
    units.format_watts: "watts",
}


def table_grid(
    grid_id: Any,
    table: Table,
    *,
    rows: Sequence[Mapping[str, Any]] | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> html.Div:
    """A sortable table; `columns` adds to AG Grid's definitions, `rows` are its `grid_rows` if at hand."""
    grid_data = grid_rows(table) if rows is None else rows
    return grid(grid_id, column_definitions(table, columns), grid_data, **more)


def column_definitions(
    table: Table, columns: Mapping[str, Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """The titled columns as AG Grid defines them."""
    return [{**_definition(column), **(columns or {}).get(column.key, {})} for column in table.titled]


def _definition(column: Column) -> dict[str, Any]:
    definition: dict[str, Any] = {"field": column.key, "headerName": column.title}
    if column.show is not None:
        call = browser_writer(column) or f"params.data['{_text_field(column)}']"
        definition["valueFormatter"] = {"function": call}
    if column.is_right:
        definition |= {
            "type": "rightAligned",
            "cellClass": "num ag-right-aligned-cell",
            "sortingOrder": ["desc", "asc", None],
        }
    return definition


def _text_field(column: Column) -> str:
    return f"{column.key}_text"


def browser_writer(column: Column) -> str | None:
    """The call that writes a column's value in the browser, if the browser has one for it."""
    show, digits = column.show, ""
    if isinstance(show, partial) and not show.args and show.keywords.keys() == {"digits"}:
        digits = f", {show.keywords['digits']}"
        show = show.func
    name = _BROWSER_WRITERS.get(show) if show is not None else None
    return None if name is None else f"phasedockTable.{name}(params.value{digits})"


def grid_rows(table: Table, extra: Callable[[Any], Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The rows as AG Grid takes them: values to sort by, and texts where the browser cannot write them."""
    rows = []
    with_text = [c for c in table.titled if c.show is not None and browser_writer(c) is None]
    for row in table.rows:
        values = dict(zip([column.key for column in table.columns], table.values(row), strict=True))
        texts = {_text_field(column): column.text(values[column.key]) for column in with_text}
        rows.append({**values, **texts, **(extra(row) if extra else {})})
    return rows


def grid(
    grid_id: Any,
    columns: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]] | None,
    *,
    height: str | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> html.Div:
    """A sortable table; without `rows`, those that a script of the page fetches."""
    as_tall_as_its_rows = {"domLayout": "autoHeight"} if height is None else {}
    table = dag.AgGrid(
        id=grid_id,
        columnDefs=list(columns),
        **({"rowModelType": "infinite"} if rows is None else {"rowData": list(rows)}),
        columnSize=more.pop("columnSize", "responsiveSizeToFit"),
        defaultColDef={
            "sortable": True,
            "resizable": True,
            "suppressMovable": True,
            "minWidth": 70,
            # types are not guessed: a cell of parts (a strip, a state) would be asked to be a text
            "cellDataType": False,
        },
        dashGridOptions={**_OPTIONS, **(options or {}), **as_tall_as_its_rows},
        className="",
        style={"height": height} if height else {"width": "100%"},
        **more,
    )
    room = height or f"{_HEADER + len(rows or ()) * int((options or {}).get('rowHeight', _ROW))}px"
    return html.Div(table, className="gridroom", style={"--room": room})


def export_menu(
    graphs: str | Sequence[tuple[str, str]], file_name: str, files: Sequence[tuple[str, str]]
) -> dmc.Popover:
    """A download button with a menu."""
    named = [(graphs, "Picture")] if isinstance(graphs, str) else graphs
    pictures = [
        html.Button(
            [icon("download", "sm"), f"{label}, {kind.upper()}"],
            type="button",
            className="btn quiet small menu",
            **data(export=graph, format=kind, file=file_name),
        )
        for graph, label in named
        for kind in ("png", "svg")
    ]
    return dmc.Popover(
        [
            dmc.PopoverTarget(icon("download"), boxWrapperProps=opener(f"Export {file_name}")),
            dmc.PopoverDropdown([*pictures, *menu_links(files)], p=4),
        ],
        position="bottom-end",
    )


def page_export(files: Sequence[tuple[str, str]]) -> dmc.Popover:
    """The export button of a page, with a menu of its files as (label, address)."""
    target = {"component": "button", "type": "button", "className": "btn", "w": ""}
    return dmc.Popover(
        [
            dmc.PopoverTarget([icon("download"), "Export"], boxWrapperProps=target),
            dmc.PopoverDropdown(menu_links(files), p=4),
        ],
        position="bottom-end",
    )


def download(label: str, href: str) -> html.A:
    """A button that downloads a table."""
    return html.A(icon("download"), href=href, className="iconbtn", download="", title=f"Export {label}, CSV",
                  **aria(label=f"Export {label}, CSV"))  # fmt: skip


def menu_links(files: Sequence[tuple[str, str]]) -> list[html.A]:
    """Files as entries of a menu."""
    return [
        html.A([icon("table", "sm"), label], href=href, className="btn quiet small menu", download="")
        for label, href in files
    ]
