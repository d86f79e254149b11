"""The export menu of a figure: picture as PNG or SVG, its data as CSV, exactly as it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.ui.basics import aria, data, icon, opener

if TYPE_CHECKING:
    from collections.abc import Sequence


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
