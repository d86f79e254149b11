"""Hundreds of Origin and Host headers: only those that are exactly ours pass."""

from itertools import product

import pytest
from flask import Flask, jsonify

from app.security import Authority, install, is_same_origin, read_authority
from core.config import Settings

OURS = "127.0.0.1:8050"
EVIL = "evil.example"


_MARKS = r"/ ? # . : \ %00 , ; @ é 。 /x ?x #x"
MARKS = (*_MARKS.split(), " ", "\t", "\n", "\0")
SCHEMES = "https ftp ws wss file HTTP Http javascript blob null"
BETWEEN = r": :/ :/// // :: :\\"
BEGINS = "// / http: blob: data:"
PORTS = """x : :80 :08050 :8051 :805 :80500 :0 :-8050 :+8050 :8_050 :٨٠٥٠ :0x1f72 :8050:8050 :8050.0 :8.05e3
    :65536 :73586"""
LOOK_ALIKES = r"""127.0.0.1.evil.example evil.example 127.0.0.2 127.1 127.0.1 2130706433 0x7f000001 0177.0.0.1
    0.0.0.0 [::1] [::ffff:127.0.0.1] localhost 127.0.0.1. .127.0.0.1 1 127.0.0.01 127。0。0。1 １27.0.0.1
    127.0.0.1%00 127.0.0.1\ [127.0.0.1] 127.0.0.l *"""
BROKEN_HOSTS = """localhost. LOCALHOST.evil.example 127.1 2130706433 0x7f.1 0177.0.0.1 ::1 [::1 ::1]
    [127.0.0.1] [::1%25eth0] [] [:] -localhost localhost- a..b 192.168.1.4"""


def hostile_origins():
    """Ours with something added, something else that looks like ours, and other schemes and ports."""
    ours = f"http://{OURS}"
    tails = ("", EVIL, f"@{EVIL}", f".{EVIL}", "//", OURS, ours)
    users = product(("", "x", "x:y", OURS, EVIL, "%40"), ("@", "@@", "#@", "\\@", "/@"), (OURS, EVIL))
    return [
        *(ours + mark + tail for mark, tail in product(MARKS, tails)),
        *(f"http://{user}{at}{host}" for user, at, host in users),
        *(begin + ours for begin in (*BEGINS.split(), " ", "\t", f"{EVIL} ", ours)),
        *(f"{scheme}://{OURS}" for scheme in (*SCHEMES.split(), "http ", " http", "")),
        *(f"http{between}{OURS}" for between in (*BETWEEN.split(), ": //", "")),
        *(f"http://127.0.0.1{port}" for port in (*PORTS.split(), "", ":8050 ", ": 8050")),
        *(f"http://{host}:8050" for host in LOOK_ALIKES.split()),
        *("null", "", "*", "undefined", OURS, "127.0.0.1"),
    ]


def hostile_hosts():
    """What a rebound name, a broken proxy or an attacker writes into a Host header."""
    ours = ("localhost", "127.0.0.1", "[::1]", OURS)
    ends = (":", ":0", ":99999", ":x", ":8050:1", ":-1", ". ", ":8050/")
    return [
        *(mark + EVIL for mark in ("", *MARKS)),
        *(EVIL + mark for mark in MARKS),
        *(own + mark + EVIL for own, mark in product(ours, ("", *MARKS))),
        *(EVIL + mark + own for own, mark in product(ours, ("", *MARKS))),
        *(own + end for own, end in product(ours[:3], ends)),
        *BROKEN_HOSTS.split(),
        "x" * 400,
    ]


def test_there_are_hundreds_of_each():
    assert len(set(hostile_origins())) >= 250
    assert len(set(hostile_hosts())) >= 200


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    made = Flask("test")
    install(made, Settings(home=tmp_path_factory.mktemp("home"), allowed_hosts=("box.example",)), list)
    made.add_url_rule("/thing", "thing", lambda: jsonify(done=True), methods=["GET", "POST"])
    return made


def status(gate, method, **headers):
    environ = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    return gate.test_client().open("/thing", method=method, environ_overrides=environ).status_code


def test_no_origin_but_exactly_ours_may_change_something(gate):
    passed = [origin for origin in hostile_origins() if status(gate, "POST", host=OURS, origin=origin) != 403]
    assert passed == []
    assert status(gate, "POST", host=OURS, origin=f"http://{OURS}") == 200


def test_no_host_but_ours_gets_anything(gate):
    passed = [host for host in hostile_hosts() if status(gate, "GET", host=host) != 403]
    assert passed == []
    for host in (
        "localhost",
        "LocalHost:8050",
        "127.0.0.1",
        OURS,
        "[::1]:8050",
        "box.example",
        "BOX.example:443",
    ):
        assert status(gate, "GET", host=host) == 200


@pytest.mark.parametrize(
    ("origin", "scheme", "host", "same"),
    [
        ("http://localhost", "http", "localhost", True),
        ("http://localhost", "http", "localhost:80", True),
        ("http://localhost:80", "http", "localhost", True),
        ("https://localhost", "https", "localhost:443", True),
        ("https://localhost", "http", "localhost", False),
        ("http://localhost", "https", "localhost", False),
        ("http://localhost:443", "https", "localhost", False),
        ("http://[::1]:8050", "http", "[::1]:8050", True),
        ("http://[::1]:8050", "http", "[::2]:8050", False),
        ("http://LOCALHOST", "http", "localhost", False),
        ("http://localhost", "http", "LOCALHOST", True),
        ("http://localhost", "http", "", False),
        ("http://", "http", "", False),
    ],
)
def test_scheme_host_and_port_are_compared(origin, scheme, host, same):
    assert is_same_origin(origin, scheme, host) is same


def test_a_further_name_may_be_behind_a_proxy_that_speaks_tls(gate):
    assert status(gate, "POST", host="box.example", origin="https://box.example") == 200
    assert status(gate, "POST", host="box.example:8443", origin="https://box.example:8443") == 200
    assert status(gate, "POST", host="box.example", origin="https://box.example:8443") == 403
    assert status(gate, "POST", host="box.example", origin="https://box.example.evil.example") == 403
    assert status(gate, "POST", host="localhost", origin="https://localhost") == 403


def test_an_authority_is_a_host_and_perhaps_a_port():
    assert read_authority("Box.Example:8050") == Authority("box.example", 8050)
    assert read_authority("[FD00::1]") == Authority("fd00::1", None)
    assert read_authority("box.example:") is None
