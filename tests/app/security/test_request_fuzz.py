"""Requests with generated headers against the whole app: a foreign one changes nothing and learns nothing.

Each run sends others, told by the seed of pytest-randomly. ``PHASEDOCK_FUZZ_SEED`` sets the seed and
``PHASEDOCK_FUZZ_REQUESTS`` how many are sent in all::

    PHASEDOCK_FUZZ_REQUESTS=10000 python -m pytest tests/app/security/test_request_fuzz.py
"""

import os
from dataclasses import dataclass, field
from random import Random

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from app.context import EXTENSION
from app.main import create_app
from core.config import Settings
from tests.app.security.test_request_origin import EVIL, MARKS, OURS, hostile_hosts, hostile_origins

LONG = os.environ.get("PHASEDOCK_TESTS_LONG") == "1"
REQUESTS = int(os.environ.get("PHASEDOCK_FUZZ_REQUESTS", "2500" if LONG else "250"))
PASSWORD = "correct horse"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
PROXY, STRANGER = "10.1.2.3", "203.0.113.9"
UPLOAD = {"name": "a.csv", "size": 3}


@dataclass(frozen=True)
class Setup:
    """A way of running PhaseDock."""

    #: Names, apart from those of the loopback, under which it may be opened.
    names: tuple[str, ...] = ()
    #: Its settings.
    more: dict[str, object] = field(default_factory=dict)


SETUPS = {
    "on this machine": Setup(),
    "with another name": Setup(("box.example",)),
    "with a password": Setup(("box.example",), {"password": PASSWORD}),
    "below a prefix": Setup((), {"prefix": "/pd"}),
    "behind a proxy": Setup(
        ("box.example",), {"trusted_proxy": ("10.0.0.0/8",), "prefix": "/pd", "password": PASSWORD}
    ),
    "on a network": Setup((), {"host": "0.0.0.0", "password": PASSWORD}),
}


@dataclass(frozen=True)
class Sent:
    """A request."""

    method: str
    path: str
    body: object
    environ: dict[str, str]

    @property
    def changes(self):
        return self.method not in ("GET", "HEAD", "OPTIONS")

    def header(self, name):
        return self.environ.get(f"HTTP_{name.upper().replace('-', '_')}")


CALLBACK = {
    "output": ".._pages_content.children..._pages_store.data..",
    "outputs": [
        {"id": "_pages_content", "property": "children"},
        {"id": "_pages_store", "property": "data"},
    ],
    "inputs": [
        {"id": "_pages_location", "property": "pathname", "value": "/pd/tasks"},
        {"id": "_pages_location", "property": "search", "value": ""},
    ],
    "changedPropIds": ["_pages_location.pathname"],
}
TARGETS = (
    ("GET", "/", None),
    ("GET", "/traces", None),
    ("GET", "/_dash-layout", None),
    ("GET", "/_dash-dependencies", None),
    ("GET", "/api/live/simulated", None),
    ("GET", "/api/runs/0123456789ab/workers.csv", None),
    ("GET", "/docs/index", None),
    ("HEAD", "/", None),
    ("OPTIONS", "/api/uploads", None),
    ("POST", "/api/uploads", UPLOAD),
    ("POST", "/api/uploads", UPLOAD),
    ("PUT", "/api/uploads/{upload}", b"a,b"),
    ("DELETE", "/api/uploads/{upload}", None),
    ("POST", "/_dash-update-component", CALLBACK),
    ("POST", "/login", {"password": "guess"}),
    ("POST", "/logout", None),
    ("PATCH", "/api/uploads", UPLOAD),
    ("BREW", "/api/uploads/{upload}", None),
)
SITES = ("same-origin", "none", "cross-site", "same-site", "", "Same-Origin", "same-origin, cross-site", "x")
MODES, DESTS = ("navigate", "no-cors", "cors", "websocket"), ("document", "iframe", "image", "empty")
SCHEMES = ("http", "https", "https, http", "javascript", "", "HTTP", "\t", "file", "x" * 300)
ADDRESSES = (PROXY, STRANGER, "127.0.0.1", "::1", "", "10.1.2.3.evil", "10.1.2.3%eth0", "unix:")


def damaged(rng, text):
    """A text with something put into it, taken out of it, or in another case."""
    place = rng.randrange(len(text) + 1)
    odd = rng.choice((*MARKS, "\x7f", "\xa0", "\xff", "..", "::", "[", "]", "%2e", ",", EVIL, "localhost"))
    kind = rng.randrange(4)
    if kind == 0:
        return text[:place] + odd + text[place:]
    if kind == 1:
        return text[:place] + text[place + 1 :]
    return text.swapcase() if kind == 2 else text[:place] + text[place:] * 2


def any_host(rng, names):
    own = rng.choice((*LOOPBACK, *names, OURS)) + rng.choice(("", ":8050", ":443"))
    hostile = rng.choice((rng.choice(HOSTS), rng.choice(ORIGINS), "box.example", "203.0.113.9:8050", ""))
    return rng.choice((own, own, hostile, damaged(rng, own)))


def any_origin(rng, host):
    same = f"{rng.choice(('http', 'https'))}://{host}"
    return rng.choice((same, rng.choice(ORIGINS), f"http://{EVIL}", damaged(rng, same)))


HOSTS, ORIGINS = hostile_hosts(), hostile_origins()


def any_request(rng, setup, signed_in):
    method, path, body = rng.choice(TARGETS)
    host = any_host(rng, setup.names)
    told = {
        "host": host,
        "origin": any_origin(rng, host),
        "referer": any_origin(rng, host) + "/traces",
        "sec-fetch-site": rng.choice(SITES),
        "sec-fetch-mode": rng.choice(MODES),
        "sec-fetch-dest": rng.choice(DESTS),
        "accept": rng.choice(("text/html", "*/*", "application/json", "\x00")),
        "x-forwarded-host": any_host(rng, setup.names),
        "x-forwarded-proto": rng.choice(SCHEMES),
        "x-forwarded-for": rng.choice((*ADDRESSES, "1, 2, 3", "x" * 5_000)),
        "x-forwarded-prefix": rng.choice(("/pd", "//evil.example", "/..")),
        "x-forwarded-port": rng.choice(("8050", "99999", "x")),
        "x-http-method-override": "GET",
        "cookie": rng.choice(("session=x", "session=", "\x00", "session=" + "e" * 4_000, *[signed_in] * 6)),
    }
    environ = {
        f"HTTP_{name.upper().replace('-', '_')}": value.encode().decode("latin-1")
        for name, value in told.items()
        if name == "host" or (rng.random() < 0.4 and (name, path) != ("cookie", "/logout"))
    }
    return Sent(method, path, body, {**environ, "REMOTE_ADDR": rng.choice(ADDRESSES)})


# The twin of the gate: it only compares texts, and errs on the side of what may pass.


def is_trusted(sent, setup):
    """Whether a request came from the proxy whose headers count."""
    return "trusted_proxy" in setup.more and sent.environ["REMOTE_ADDR"] == PROXY


def host_of(sent, setup):
    told = sent.header("x-forwarded-host") if is_trusted(sent, setup) else None
    host = told.rpartition(",")[2].strip() if told else sent.header("host")
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def is_ours(host, setup):
    address = setup.more.get("host") == "0.0.0.0" and not set(host) - set("0123456789.:abcdef[]")
    return host in (*LOOPBACK, *setup.names) or address


def may_change(sent, setup):
    """Whether a request can come from a page of ours, or from a program."""
    origin = sent.header("origin")
    if sent.header("sec-fetch-site") not in (None, "same-origin", "none"):
        return False
    if origin is None:
        return True
    scheme, separator, authority = origin.partition("://")
    name = authority.rpartition(":")[0] if authority.rpartition(":")[2].isdigit() else authority
    schemes = (
        {"http", "https"} if is_trusted(sent, setup) or host_of(sent, setup) in setup.names else {"http"}
    )
    return separator == "://" and scheme in schemes and name == host_of(sent, setup)


def wrong_with(sent, setup, answer, changed, knows):
    """What is wrong with the answer to a request, or None."""
    refused, text = answer.status_code in (400, 403), answer.get_data(as_text=True)
    faults = {
        f"{answer.status_code}: {text[-300:]}": answer.status_code >= 500,
        "an answer to a foreign host": not is_ours(host_of(sent, setup), setup) and not refused,
        "an answer to a foreign origin": sent.changes and not may_change(sent, setup) and not refused,
        "something was stored or deleted": changed and (refused or answer.status_code == 401),
        "an answer without signing in": "password" in setup.more
        and answer.status_code == 200
        and not (is_open(sent) or knows),
        "a refusal without a sentence": refused and not text.strip() and sent.method != "HEAD",
        "a refusal of thousands of characters": refused and len(text) > 4_000,
    }
    return next((fault for fault, found in faults.items() if found), None)


def is_open(sent):
    return sent.path == "/login" or sent.method == "OPTIONS"


@pytest.fixture
def seed(request):
    told = os.environ.get("PHASEDOCK_FUZZ_SEED")
    return int(told) if told else int(request.config.getoption("randomly_seed", 0))


@pytest.mark.parametrize("name", SETUPS)
def test_a_foreign_request_gets_a_refusal_and_changes_nothing(name, tmp_path, seed):
    setup = SETUPS[name]
    server = create_app(Settings(home=tmp_path, allowed_hosts=setup.names, **setup.more)).server
    place = server.extensions[EXTENSION]
    waiting = place.uploads.begin(**UPLOAD)
    stored = lambda: {(each, each.stat().st_size) for each in (tmp_path / "uploads").rglob("*")}  # noqa: E731
    signed_in = sign_in(server, setup)
    found, passed = {}, 0
    for number in range(-(-REQUESTS // len(SETUPS))):
        sent = any_request(Random(f"{seed} {name} {number}"), setup, signed_in)
        before = stored()
        answer = send(server, sent, waiting)
        knows = sent.header("cookie") == signed_in
        fault = wrong_with(sent, setup, answer, stored() != before, knows)
        passed += answer.status_code == 200
        if not (tmp_path / "uploads" / waiting).exists():
            waiting = place.uploads.begin(**UPLOAD)
        if fault is not None:
            found[number] = (fault, sent)
    place.close()
    assert not found, f"PHASEDOCK_FUZZ_SEED={seed}, {name}: {found}"
    assert passed


def sign_in(server, setup):
    """The cookie of a session; one that is not needed where there is no password."""
    if "password" not in setup.more:
        return "session=y"
    sent = Sent("POST", "/login", {"password": PASSWORD}, {"HTTP_HOST": "localhost"})
    return send(server, sent, "").headers["Set-Cookie"].partition(";")[0]


def send(server, sent, upload):
    """The server's own answer: a test client reads addresses itself, and fails at some hosts."""
    as_form = sent.path == "/login"
    prefix = server.config["SESSION_COOKIE_PATH"].rstrip("/")
    builder = EnvironBuilder(
        prefix + sent.path.format(upload=upload),
        method=sent.method,
        **({"data": sent.body} if as_form or isinstance(sent.body, bytes) else {"json": sent.body}),
    )
    return Response(*run_wsgi_app(server, {**builder.get_environ(), **sent.environ}))
