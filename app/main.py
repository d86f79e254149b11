"""Makes the web application: the server, its access checks, the shell, and the list of pages."""

from __future__ import annotations

import gc
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dash
from flask import Flask, request
from flask.json.provider import DefaultJSONProvider

from app import api, context, proxy, security
from app.context import EXTENSION
from app.pages import PAGES
from app.shell import first_look, help_window
from app.shell import layout as shell
from app.ui import graph, task_card
from app.ui.page import on_callback_error
from core.bootstrap import open_workspace
from core.config import Settings, load_settings
from core.errors import PhaseDockError

if TYPE_CHECKING:
    from app.ui.page import Page

_ASSETS = Path(__file__).resolve().parent.parent / "assets"
_LARGEST_FORM = 16 * 2**20
_INDEX = """<!DOCTYPE html>
<html lang="en" data-prefix="{%prefix%}">
<head>
{%metas%}
<title>{%title%}</title>
<script src="/assets/js/scheme.js"></script>
{%favicon%}
{%css%}
</head>
<body>
<p class="unstyled">PhaseDock’s scripts and styles could not be loaded. If a proxy offers PhaseDock
under a path, set PHASEDOCK_PREFIX to this path and start PhaseDock again.</p>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""


class _Application(dash.Dash):
    """Dash with a placeholder of the page until its scripts have loaded."""

    def interpolate_index(self, *more: Any, **parts: Any) -> str:
        """Fill the document's template."""
        pages = [page for _, page in PAGES.items()]
        entry = first_look.first_look(pages, request.path) + parts["app_entry"]
        title = first_look.title_at(pages, request.path)
        document: str = super().interpolate_index(*more, **parts | {"app_entry": entry, "title": title})
        return document.replace("{%prefix%}", self.config.requests_pathname_prefix.rstrip("/"))


class _Json(DefaultJSONProvider):
    """JSON without half surrogate pairs, which are no characters: an answer could not repeat them."""

    def loads(self, s: str | bytes, **more: Any) -> Any:
        """Read a request's body; half a pair becomes a question mark."""
        value = super().loads(s, **more)
        if (b"\\ud" if isinstance(s, bytes) else "\\ud") not in s.lower():  # type: ignore[operator]
            return value
        return super().loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def create_app(settings: Settings) -> dash.Dash:
    """Make the application for one workspace."""
    server = Flask("phasedock")
    server.json = _Json(server)
    server.config["MAX_FORM_MEMORY_SIZE"] = _LARGEST_FORM
    server.extensions[EXTENSION] = open_workspace(settings)
    server.register_blueprint(api.blueprint)
    server.register_blueprint(help_window.blueprint)
    server.register_error_handler(PhaseDockError, api.explain)
    context.install(server, settings)
    proxy.install(server, settings)
    app = _Application(
        "phasedock",
        server=server,  # type: ignore[arg-type]  # a Flask server is what it is for
        requests_pathname_prefix=f"{settings.prefix}/",
        routes_pathname_prefix="/",
        use_pages=True,
        pages_folder="",
        assets_folder=str(_ASSETS),
        assets_ignore=r"scheme\.js",
        index_string=_INDEX,
        title="PhaseDock",
        update_title="",
        suppress_callback_exceptions=True,
        on_error=on_callback_error,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    # Dash adds its page router before the first request; the gate has to come before it.
    security.install(server, settings, app.csp_hashes)
    pages = [page for _, page in PAGES.items()]
    for page in pages:
        _add(app, page)
    first_look.register(server, pages)
    graph.register(app)
    task_card.register(app)
    shell.register(app, settings, pages)
    app.layout = partial(shell.layout, pages, settings)
    return app


def _add(app: dash.Dash, page: Page) -> None:
    dash.register_page(
        page.name, path=page.path, name=page.name, title=f"{page.name} · PhaseDock", layout=page.layout
    )
    page.register(app)
    for blueprint in page.routes:
        app.server.register_blueprint(blueprint)


def wsgi() -> Flask:
    """The server for gunicorn, with the settings of the environment."""
    server: Flask = create_app(load_settings()).server
    # Dash lists its assets during the first request; another page requested then would lack scripts.
    server.test_client().get("/healthz", base_url="http://127.0.0.1")
    forget_start()
    return server


def forget_start() -> None:
    """Exclude the objects of the start from garbage collection, which would delay a request by 0.2 s."""
    gc.collect()
    gc.freeze()
