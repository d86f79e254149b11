"""The other containers of the host: listed, never touched, and picked one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.live.state import does
from app.ui.basics import Node, button, card, plain_table, unseen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sampling.values import ContainerRow, LiveView

_MOST = 100


def panel(view: LiveView, *, control: bool) -> Node:
    """The card of containers that PhaseDock leaves alone, and of those that a person picked; None without."""
    picked = [row for row in view.rows if row.picked and not row.labelled]
    if not view.foreign and not picked:
        return None
    return html.Div(
        [
            part
            for part in (_picked(picked, control) if picked else None, _foreign(view, control))
            if part is not None
        ],
        className="stack",
    )


def _picked(picked: Sequence[ContainerRow], control: bool) -> Node:
    rows = [(row.name, row.image, _act("unpick", row.id, f"Deselect {row.name}", control)) for row in picked]
    return card(
        "Selected by hand",
        plain_table(
            [("Container", False), ("Image", False), (unseen("Actions"), False)], rows, "Selected by hand"
        ),
        note="managed without the label",
        flush=True,
        class_name="live-others",
    )


def _foreign(view: LiveView, control: bool) -> Node:
    if not view.foreign:
        return None
    rows = [
        (row.name, row.image, row.state, _act("pick", row.id, f"Select {row.name}", control))
        for row in view.foreign[:_MOST]
    ]
    heads = [("Container", False), ("Image", False), ("State", False), (unseen("Actions"), False)]
    parts: list[Node] = [plain_table(heads, rows, "Other containers on this host")]
    if len(view.foreign) > _MOST:
        parts.append(html.Div(f"and {len(view.foreign) - _MOST:,} more", className="inset small ink3"))
    return card(
        "Other containers on this host",
        *parts,
        note="left alone because they do not carry the label",
        flush=True,
        class_name="live-others",
    )


def _act(act: str, of: str, label: str, control: bool) -> Node:
    word = "Select" if act == "pick" else "Deselect"
    more = {} if control else {"disabled": True}
    title = label if control else "PHASEDOCK_CONTROL is off"
    return button(word, "plus" if act == "pick" else "x", "quiet small", title=title, **does(act, of), **more)
