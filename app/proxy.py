"""The edge towards a reverse proxy: a path in front of every address, and the visitor's own Host and scheme.

Pages, callbacks and routes know the addresses of PhaseDock alone (``/traces``). Under a prefix, this module
takes it off what comes in and puts it in front of what goes out: links in documents and in the answers of
callbacks, and redirects. X-Forwarded headers count only in requests from a trusted address, since anybody
could send them.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from flask import request
from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from flask import Flask
    from werkzeug.wrappers import Response

    from core.config import Settings

_IN_HTML = r'(?P<before>\b(?:href|src|action)=")/'
_IN_JSON = r'(?P<before>"(?:href|src|action|pathname|data-fetch)": ?")(?:/|\\u002f)'
"""Dash escapes slashes."""


def install(server: Flask, settings: Settings) -> None:
    """Serve under the prefix of the settings, and believe their trusted proxy."""
    server.config["SESSION_COOKIE_PATH"] = settings.prefix or "/"
    application: WSGIApplication = server.wsgi_app
    if settings.trusted_proxy:
        application = _trusting(application, settings.trusted_proxy)
    if settings.prefix:
        application = _below(application, settings.prefix)
        server.after_request(_prefixing(settings.prefix))
    server.wsgi_app = application  # type: ignore[assignment,method-assign]  # Flask's documented place for middleware


def _trusting(application: WSGIApplication, proxies: tuple[str, ...]) -> WSGIApplication:
    """Read the X-Forwarded headers of requests that come from one of these networks."""
    networks = [ipaddress.ip_network(each) for each in proxies]
    forwarded = ProxyFix(application, x_for=1, x_proto=1, x_host=1)

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            sender = ipaddress.ip_address(environ.get("REMOTE_ADDR", ""))
        except ValueError:
            return application(environ, start_response)
        trusted = any(sender in each for each in networks)
        return (forwarded if trusted else application)(environ, start_response)

    return serve


def _below(application: WSGIApplication, prefix: str) -> WSGIApplication:
    """Take the prefix off a path, whether the proxy has already done so or not."""

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == prefix or path.startswith(f"{prefix}/"):
            environ["PATH_INFO"] = path.removeprefix(prefix) or "/"
        environ["SCRIPT_NAME"] = prefix
        return application(environ, start_response)

    return serve


def _prefixing(prefix: str) -> Callable[[Response], Response]:
    """Put the prefix in front of PhaseDock's own addresses in an answer; those that have it stay."""
    slash = r"(?:/|\\u002f)"
    own = rf"(?!/|\\u002f|{re.escape(prefix[1:]).replace('/', slash)}(?:[/?#\"\\]|$))"
    in_html, in_json = (re.compile((each + own).encode()) for each in (_IN_HTML, _IN_JSON))
    written = rb"\g<before>" + prefix.encode() + b"/"
    location = re.compile("/" + own)

    def put(response: Response) -> Response:
        target = response.headers.get("Location", "")
        if location.match(target):
            response.headers["Location"] = prefix + target
        if response.mimetype == "text/html":
            response.set_data(in_html.sub(written, response.get_data()))
        elif response.mimetype == "application/json" and request.path.startswith("/_dash-"):
            response.set_data(in_json.sub(written, response.get_data()))
        return response

    return put
