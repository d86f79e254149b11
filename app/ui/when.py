"""A moment as people say it, with the exact time as its tooltip."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from dash import html

from app.ui.tasks.words import moment

if TYPE_CHECKING:
    from datetime import datetime


def when(time: datetime) -> html.Time:
    """How long ago an aware time was."""
    exact = time.astimezone(UTC)
    return html.Time(moment(time), dateTime=exact.isoformat(), title=f"{exact:%Y-%m-%d %H:%M:%S} UTC")
