"""Access checks of the web process: hosts, origins, sign-in, and what pages may load.

Control over containers is root on their host, so other pages in the browser must get nothing:
every request's Host must be ours (a rebound DNS name is not), every request that changes something
must come from our own pages, and nothing may be loaded from elsewhere. When the server listens
beyond this machine, it also requires a password.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import time
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from flask import Response, make_response, redirect, render_template_string, request, session
from flask.sessions import SecureCookieSessionInterface

from core.workspace.files import disk_errors, hold_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from flask import Flask
    from werkzeug.wrappers import Response as AnyResponse

    from core.config import Settings


_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_AUTHORITY = re.compile(
    rf"(?P<host>{_NAME}(?:\.{_NAME})*|\[[0-9a-f:.]+\])(?::(?P<port>[1-9][0-9]{{0,4}}))?", re.ASCII
)
_LONGEST = 300


# The origin of a request, by its Host and Origin headers, both read strictly.
#
# A lenient parser finds our host in ``http://127.0.0.1:8050#@evil.example``. So a header counts only if it
# is written exactly as browsers write it (https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin):
# scheme, host, port, and nothing else.


class Authority(NamedTuple):
    """A host, in lower case and without brackets, and a port; None for the scheme's default."""

    host: str
    port: int | None


def read_authority(text: str) -> Authority | None:
    """Read ``host`` or ``host:port``, as a Host header has it; None if it is anything else."""
    match = _AUTHORITY.fullmatch(text.lower()) if len(text) <= _LONGEST and text.isascii() else None
    if match is None:
        return None
    host, port = match["host"], match["port"]
    if host.startswith("["):
        host = host[1:-1]
        if ":" not in host or not is_address(host):
            return None
    if port is not None and int(port) > 65535:
        return None
    return Authority(host, None if port is None else int(port))


def is_address(host: str) -> bool:
    """Whether a host is an IP address, which no DNS name can pretend to be."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_same_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether an Origin header names exactly the server that a request was sent to."""
    scheme_part, separator, authority = origin.partition("://")
    origin_authority, host_authority = read_authority(authority), read_authority(host)
    if (
        not separator
        or scheme_part != scheme
        or authority != authority.lower()
        or origin_authority is None
        or host_authority is None
    ):
        return False
    default = _DEFAULT_PORTS.get(scheme)
    return origin_authority.host == host_authority.host and (origin_authority.port or default) == (
        host_authority.port or default
    )


KEY_BYTES = 32


def session_key(home: Path) -> bytes:
    """Return the key of sessions, created on first use; only its owner can read it.

    Processes that start together get the same key: each reads it under a lock on the folder
    that ends with the process. A file that is empty or too short is replaced. Raises StorageError if the disk
    is full or read-only.
    """
    path = home / "session.key"
    with disk_errors("the key of sessions"), hold_folder(home):
        key = path.read_bytes() if path.is_file() else b""
        if len(key) < KEY_BYTES:
            key = secrets.token_bytes(KEY_BYTES)
            _write_private(path, key)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    return key


def _write_private(path: Path, data: bytes) -> None:
    """Write a file with mode 600 in one step: a kill leaves the old one or the new one."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}
_OPEN_PATHS = {"/healthz", "/login"}
_FOREIGN = "X-PhaseDock-Foreign"
"""Marks a refusal of another origin: the page then shows it in place of what it waits for."""
_MAX_TRIES, _TRIES_WINDOW = 10, 60.0
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}

LOGIN_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Sign in to PhaseDock</title>
<link rel="icon" href="/assets/logo.svg">
<link rel="stylesheet" href="/assets/css/00-tokens.css">
<link rel="stylesheet" href="/assets/css/10-base.css">
<link rel="stylesheet" href="/assets/css/20-components.css">
<script src="/assets/js/scheme.js"></script></head>
<body><main class="login"><form method="post" class="card"><div class="body first stack">
<h1>Sign in to PhaseDock</h1>
{% if wrong %}<div class="notice bad" role="alert">{{ wrong }}</div>{% endif %}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<button class="btn primary" type="submit">Sign in</button></div></form></main></body></html>"""


REFUSED_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Not allowed · PhaseDock</title></head>
<body><main><h1>PhaseDock is not allowed to answer here</h1><p>{{ sentence }}</p></main></body></html>"""

_SESSION_AGE = timedelta(days=31)


class Sessions:
    """Who is signed in: a file for each session in the home folder, shared by all web processes.

    A cookie holds a random token, and the file's name is derived from it with the server's key and the
    password. So signing out ends every copy of a cookie, and a new password ends every session.
    """

    def __init__(self, folder: Path, key: bytes, password: bytes) -> None:
        self._folder = folder
        self._key = hmac.new(key, b"signed in with " + password, "sha256").digest()

    def begin(self) -> str:
        """Start a session and return its token. Raises StorageError if the disk is full or read-only."""
        token = secrets.token_urlsafe(32)
        with disk_errors("the session"):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._forget_old()
            self._file(token).touch(mode=0o600)
        return token

    def holds(self, token: str) -> bool:
        """Whether a token is one of a session that has not ended."""
        try:
            began = self._file(token).stat().st_mtime
        except OSError:
            return False
        return time.time() - began < _SESSION_AGE.total_seconds()

    def end(self, token: str) -> None:
        """End a session."""
        self._file(token).unlink(missing_ok=True)

    def _file(self, token: str) -> Path:
        return self._folder / hmac.new(self._key, token.encode(), "sha256").hexdigest()

    def _forget_old(self) -> None:
        for file in self._folder.iterdir():
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime >= _SESSION_AGE.total_seconds():
                    file.unlink(missing_ok=True)


class _Cookies(SecureCookieSessionInterface):
    """The session's cookie; over TLS only where the browser came over TLS."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Whether browsers may send the cookie over TLS only."""
        return request.is_secure or super().get_cookie_secure(app)


class Gate:
    """Decides for every request whether it may pass."""

    def __init__(self, settings: Settings, key: bytes) -> None:
        self._settings = settings
        self._proxy_names = {name.strip("[]").lower() for name in settings.allowed_hosts}
        self._names = _LOOPBACK_NAMES | {settings.host.lower()} | self._proxy_names
        self._password = (settings.password or "").encode("utf-8", "surrogateescape")
        self._sessions = Sessions(settings.home / "sessions", key, self._password)
        self._tries: deque[float] = deque()

    def host_allowed(self, host: str) -> bool:
        """Whether a Host header names us: a rebound DNS name does not.

        When listening beyond this machine, a bare IP address is ours too: no DNS name can pretend to be one.
        """
        authority = read_authority(host)
        if authority is None:
            return False
        return authority.host in self._names or (not self._settings.loopback and is_address(authority.host))

    def origin_allowed(self, host: str) -> bool:
        """Whether a request that changes something comes from one of our own pages.

        Browsers send an Origin with every such request; programs such as ``curl`` send none and are
        not foreign pages. An additional name may be that of a proxy that speaks TLS to browsers and
        HTTP to us.
        """
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return False
        origin = request.headers.get("Origin")
        if origin is None or is_same_origin(origin, request.scheme, host):
            return True
        authority = read_authority(host)
        return (
            authority is not None
            and authority.host in self._proxy_names
            and is_same_origin(origin, "https", host)
        )

    def check(self) -> AnyResponse | None:
        """Turn a request away, send it to the sign-in page, or let it pass (None)."""
        host = request.headers.get("Host", "")
        if not self.host_allowed(host):
            return _refuse(_unknown_host(host))
        if _from_another_site() and not _opens_a_page():
            return _refuse("Another site asked for this. Open PhaseDock by its own address.")
        if request.method not in ("GET", "HEAD", "OPTIONS") and not self.origin_allowed(host):
            return _refuse(
                "This request came from another site, so nothing changed. If it came through your own proxy, "
                "let the proxy forward the Host header as the browser sent it, or set "
                "PHASEDOCK_TRUSTED_PROXY to its address.",
                headers={_FOREIGN: "1"},
            )
        if self._settings.password is None or self._is_signed_in() or _is_open(request.path):
            return None
        if request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return redirect("/login")
        return _refuse("Sign in first: open the page in a browser.", status=401)

    def _is_signed_in(self) -> bool:
        token = session.get("signed_in")
        return isinstance(token, str) and self._sessions.holds(token)

    def sign_in(self) -> AnyResponse:
        """Show the sign-in page, or answer its form."""
        if request.method == "GET":
            return make_response(render_template_string(LOGIN_PAGE, wrong=""))
        if self._too_often():
            wrong = "Too many attempts. Wait a minute, then try again."
            return make_response(render_template_string(LOGIN_PAGE, wrong=wrong), 429)
        password = request.form.get("password", "").encode()
        if hmac.compare_digest(password, self._password):
            session.permanent = True
            session["signed_in"] = self._sessions.begin()
            return redirect("/")
        self._tries.append(time.monotonic())
        wrong = "Wrong password. It is the value of PHASEDOCK_PASSWORD."
        return make_response(render_template_string(LOGIN_PAGE, wrong=wrong), 401)

    def sign_out(self) -> AnyResponse:
        """End the session, for every copy of its cookie, and show the sign-in page."""
        self._sessions.end(str(session.get("signed_in", "")))
        session.clear()
        return redirect("/login", 303)

    def _too_often(self) -> bool:
        while self._tries and self._tries[0] < time.monotonic() - _TRIES_WINDOW:
            self._tries.popleft()
        return len(self._tries) >= _MAX_TRIES


def _is_open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith("/assets/")


def _from_another_site() -> bool:
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def _opens_a_page() -> bool:
    """Whether a link was followed to a page: an address that only shows something."""
    followed = request.headers.get("Sec-Fetch-Mode") == "navigate"
    in_a_tab = request.headers.get("Sec-Fetch-Dest", "document") == "document"
    return followed and in_a_tab and not request.path.startswith(("/api/", "/_dash-"))


def _unknown_host(host: str) -> str:
    authority = read_authority(host)
    if authority is None:
        return "The request names no host that PhaseDock could check. Open PhaseDock by its own address."
    return (
        f"“{authority.host}” is not a name under which PhaseDock may be opened. Open it by its own address, "
        f"or set PHASEDOCK_ALLOWED_HOSTS={authority.host} and start PhaseDock again."
    )


def _refuse(sentence: str, status: int = 403, headers: dict[str, str] | None = None) -> AnyResponse:
    """Answer with a sentence: as a page where a browser shows it, else as plain text."""
    if "text/html" in request.headers.get("Accept", ""):
        page = render_template_string(REFUSED_PAGE, sentence=sentence)
        return Response(page, status=status, mimetype="text/html", headers=headers)
    return Response(sentence + "\n", status=status, mimetype="text/plain", headers=headers)


def content_policy(script_hashes: Sequence[str]) -> str:
    """The Content-Security-Policy: everything from here, scripts that are ours, nothing else."""
    scripts = " ".join(["'self'", *script_hashes])
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )


def install(server: Flask, settings: Settings, script_hashes: Callable[[], Sequence[str]]) -> None:
    """Put the gate before every route of a server and the policy on every answer."""
    server.secret_key = session_key(settings.home)
    gate = Gate(settings, server.secret_key)
    server.session_interface = _Cookies()
    server.permanent_session_lifetime = _SESSION_AGE
    server.config.update(
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        # only signing in sets the cookie: an answer on its way while a person signs out would bring it back
        SESSION_REFRESH_EACH_REQUEST=False,
    )
    server.before_request(gate.check)
    if settings.password is not None:
        server.add_url_rule("/login", "login", gate.sign_in, methods=["GET", "POST"])
        server.add_url_rule("/logout", "logout", gate.sign_out, methods=["POST"])

    def protect(response: AnyResponse) -> AnyResponse:
        if response.mimetype == "text/html":
            response.headers["Content-Security-Policy"] = content_policy(script_hashes())
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    server.after_request(protect)
