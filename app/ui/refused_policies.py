"""What pages say of policies from outside that were refused when PhaseDock started."""

from __future__ import annotations

from dash import html

from app.ui.basics import Node, notice
from core.runtime.policies.load import refusals


def refused_policies() -> Node:
    """A notice that names every refused policy and says why, or None."""
    found = refusals()
    if not found:
        return None
    words = html.Ul([html.Li(str(each)) for each in found], className="notes")
    n = len(found)
    return notice("warn", words, strong=f"{n} polic{'y' if n == 1 else 'ies'} from outside cannot be used.")
