"""What the Provisioning page shows, as text."""

import json

from app.pages.provisioning import page

FEW = ("budget.oracle", "prev.step.max", "prev.step.rules", "phase.rule", "static.peak")


def text_of(node):
    plain = json.dumps(node, default=lambda each: each.to_plotly_json())
    return str(json.loads(plain)) if plain else ""


def page_text(**values):
    return text_of(page.layout(**values))
