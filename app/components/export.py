"""The export menu of a figure: picture as PNG or SVG, its data as CSV, exactly as it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.components.basics import data, icon, opener

if TYPE_CHECKING:
    from collections.abc import Sequence


def export_menu(graph_name: str, file_name: str, files: Sequence[tuple[str, str]]) -> dmc.Menu:
    """A download button with a menu.

    Parameters
    ----------
    graph_name
        The name of the graph whose picture is saved; the browser does it (``assets/export.js``).
    file_name
        What the file is called, without its ending.
    files
        (label, address) of further files.
    """
    pictures = [
        html.Button(
            [icon("download", "sm"), f"Picture, {kind.upper()}"],
            type="button",
            className="btn quiet small menu",
            **data(export=graph_name, format=kind, file=file_name),
        )
        for kind in ("png", "svg")
    ]
    links = [
        html.A([icon("table", "sm"), label], href=href, className="btn quiet small menu", download="")
        for label, href in files
    ]
    return dmc.Popover(
        [
            dmc.PopoverTarget(icon("download"), boxWrapperProps=opener(f"Export {file_name}")),
            dmc.PopoverDropdown([*pictures, *links], p=4),
        ],
        position="bottom-end",
    )
