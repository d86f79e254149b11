"""The pages: one folder each that declares a ``PAGE``, one line each here, in the order of the rail."""

from app.pages import (
    live,
    models,
    overview,
    phases,
    provisioning,
    runs,
    sequences,
    tasks,
    traces,
)
from app.ui.page import Page
from core.registry import Registry

PAGES: Registry[Page] = Registry("page")
for _page in (
    overview.PAGE,
    traces.PAGE,
    models.PAGE,
    phases.PAGE,
    sequences.PAGE,
    provisioning.PAGE,
    runs.PAGE,
    live.PAGE,
    tasks.PAGE,
):
    PAGES.add(_page.name, _page)
