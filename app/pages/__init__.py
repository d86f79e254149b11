"""The pages: one folder each, one line each in the register, in the order of the rail."""

from app.pages import live, models, overview, phases, provisioning, runs, sequences, tasks, traces
from app.ui.page import Page
from core.registry import Registry

PAGES: Registry[Page] = Registry("page")
for _module in (overview, traces, models, phases, sequences, provisioning, runs, live, tasks):
    PAGES.add(_module.PAGE.name, _module.PAGE)
