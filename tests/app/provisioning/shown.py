"""What the Provisioning page shows, as text."""

from __future__ import annotations

import json
from typing import Any

from app.pages.provisioning import page

FEW = ("budget.oracle", "prev.step.max", "prev.step.rules", "phase.rule", "static.peak")


def text_of(node: Any) -> str:
    plain = json.dumps(node, default=lambda each: each.to_plotly_json())
    return str(json.loads(plain)) if plain else ""


def shown(**values: str) -> str:
    return text_of(page.layout(**values))
