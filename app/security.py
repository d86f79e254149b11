"""Who may speak to the web process, and what its pages may load.

Whoever controls containers is root on their host, so a page in the same browser must get nothing:
every request's Host must be ours (a rebound DNS name is not), every request that changes something
must come from our own pages, and nothing may be loaded from elsewhere. When the server is bound
wider than this machine, a password is asked for as well.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Response, make_response, redirect, render_template_string, request, session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from core.config import Settings

_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}
_OPEN_PATHS = {"/healthz", "/login"}
_MOST_TRIES, _TRIES_WINDOW = 10, 60.0

LOGIN_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Sign in to PhaseDock</title>
<link rel="stylesheet" href="/assets/00-tokens.css"><link rel="stylesheet" href="/assets/10-base.css">
<link rel="stylesheet" href="/assets/20-components.css"><script src="/assets/scheme.js"></script></head>
<body><main class="login"><form method="post" class="card"><div class="body first stack">
<h1>Sign in to PhaseDock</h1>
{% if wrong %}<div class="notice bad" role="alert">{{ wrong }}</div>{% endif %}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<button class="btn primary" type="submit">Sign in</button></div></form></main></body></html>"""


def host_name(host: str) -> str:
    """The name in a Host header or an address, without its port and brackets, in lower case."""
    return (urlsplit(f"//{host}").hostname or "").lower()


class Gate:
    """Decides for every request whether it may pass.

    Parameters
    ----------
    settings
        Where the server listens, its password, and the further names it may be reached by.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._names = _LOOPBACK_NAMES | {settings.host.lower(), *(n.lower() for n in settings.allowed_hosts)}
        self._tries: deque[float] = deque()

    def host_allowed(self, host: str) -> bool:
        """Whether this is a name of ours: a rebound DNS name is not.

        Bound wider than this machine, a bare address is ours too: no DNS name can pretend to be one.
        """
        name = host_name(host)
        if name in self._names:
            return True
        return not self._settings.loopback and _is_address(name)

    def origin_allowed(self) -> bool:
        """Whether a request that changes something comes from one of our own pages.

        Browsers send an Origin with every such request; programs without one (``curl``) are not a
        page that somebody else wrote.
        """
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return False
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == request.host.lower()

    def check(self) -> AnyResponse | None:
        """Turn a request away, send it to the sign-in page, or let it pass (None)."""
        if not self.host_allowed(request.host):
            return _refuse(
                "This name does not belong to PhaseDock. Open it by its own address, or add the name to "
                "PHASEDOCK_ALLOWED_HOSTS."
            )
        if request.method not in ("GET", "HEAD", "OPTIONS") and not self.origin_allowed():
            return _refuse("This request came from another site, so nothing was changed.")
        if self._settings.password is None or session.get("signed_in") or _is_open(request.path):
            return None
        if request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return redirect("/login")
        return _refuse("Sign in first: open the page in a browser.", status=401)

    def sign_in(self) -> AnyResponse:
        """Show the sign-in page, or answer its form."""
        if request.method == "GET":
            return make_response(render_template_string(LOGIN_PAGE, wrong=""))
        if self._too_often():
            wrong = "Too many tries. Wait a minute, then try again."
            return make_response(render_template_string(LOGIN_PAGE, wrong=wrong), 429)
        given = request.form.get("password", "").encode()
        if hmac.compare_digest(given, (self._settings.password or "").encode()):
            session.permanent = True
            session["signed_in"] = True
            return redirect("/")
        self._tries.append(time.monotonic())
        wrong = "That is not the password. It is the value of PHASEDOCK_PASSWORD."
        return make_response(render_template_string(LOGIN_PAGE, wrong=wrong), 401)

    def _too_often(self) -> bool:
        while self._tries and self._tries[0] < time.monotonic() - _TRIES_WINDOW:
            self._tries.popleft()
        return len(self._tries) >= _MOST_TRIES


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith("/assets/")


def _refuse(sentence: str, status: int = 403) -> AnyResponse:
    return Response(sentence + "\n", status=status, mimetype="text/plain")


def session_key(home: Path) -> bytes:
    """The key that signs sessions: made once, readable by its owner only."""
    path = home / "session.key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(secrets.token_bytes(32))
    return path.read_bytes()


def content_policy(script_hashes: Sequence[str]) -> str:
    """The Content-Security-Policy: everything from here, scripts that are ours, nothing else."""
    scripts = " ".join(["'self'", *script_hashes])
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )


def install(server: Flask, settings: Settings, script_hashes: Callable[[], Sequence[str]]) -> None:
    """Put the gate before every route of a server and the policy on every answer.

    Parameters
    ----------
    server
        The Flask server.
    settings
        Host, password and allowed names.
    script_hashes
        Gives the hashes of the inline scripts that Dash needs; asked once pages exist.
    """
    gate = Gate(settings)
    server.secret_key = session_key(settings.home)
    server.config.update(SESSION_COOKIE_HTTPONLY=True, SESSION_COOKIE_SAMESITE="Strict")
    server.before_request(gate.check)
    server.add_url_rule("/login", "login", gate.sign_in, methods=["GET", "POST"])

    def protect(response: AnyResponse) -> AnyResponse:
        if response.mimetype == "text/html" and request.path != "/login":
            response.headers["Content-Security-Policy"] = content_policy(script_hashes())
        headers: dict[str, Any] = {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        return response

    server.after_request(protect)
