"""Long or sortable tables: AG Grid in the application's style.

The theme is made of the page's own CSS variables, so it follows the colour scheme by itself.
Renderers of cells (strip, badge, bar) are in ``assets/js/dashAgGridComponentFunctions.js``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_ag_grid as dag
from dash import html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def grid(
    grid_id: Any,
    columns: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    *,
    height: str | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> html.Div:
    """A sortable table."""
    as_tall_as_its_rows = {"domLayout": "autoHeight"} if height is None else {}
    table = dag.AgGrid(
        id=grid_id,
        columnDefs=list(columns),
        rowData=list(rows),
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
    room = height or f"{_HEADER + len(rows) * int((options or {}).get('rowHeight', _ROW))}px"
    return html.Div(table, className="gridroom", style={"--room": room})
