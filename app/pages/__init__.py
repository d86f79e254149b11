"""The pages: one folder each that declares a ``PAGE``, one line each here, in the order of the rail."""

from app.ui.page import Page
from core.registry import Registry, declared

PAGES: Registry[Page] = Registry("page")
for _page in declared(
    "app.pages",
    "PAGE",
    "overview",
    "traces",
    "models",
    "phases",
    "sequences",
    "provisioning",
    "runs",
    "live",
    "tasks",
):
    PAGES.add(_page.name, _page)
