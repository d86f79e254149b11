"""Hundreds of hostile texts in every place that takes one: an answer or a sentence, at once.

A text may be taken for an expression, a filter, a format, a path, HTML, a formula or SQL. What is written
into a form comes to a callback, so every callback gets them. ``PHASEDOCK_FUZZ_TEXTS`` sets how many each gets::

    PHASEDOCK_FUZZ_TEXTS=1000 python -m pytest tests/app/test_hostile_texts.py
"""

# ruff: noqa: E501 - lists of texts, which say nothing
import json
import logging
import os
import time
from itertools import chain, product
from random import Random

import pytest

from app.main import create_app
from core import config
from core.deadline_text import read_deadline
from core.errors import MAX_SENTENCE_LENGTH, PhaseDockError
from core.experiments.spec_reader import read_experiment
from core.progress import ProgressReader
from core.tables import Column, Table, render_csv
from core.workspace.files import safe_name

MOST_SECONDS = 1.0
TEXTS = int(os.environ.get("PHASEDOCK_FUZZ_TEXTS", "8"))
NOW = 1.8e9
# fmt: off
BACK = [f"({a}){b}$" for a, b in product(("a+","a*",".*","a|aa",r"\w+",r"(\d*x?)*","[ab]+","a{2,}"), ("+","*","+?","{99999}","{1,99999}","{2,30}"))]
REFS = [r"(a+)\1+", r"(?P<x>a)(?P=x)", "(?<=a+)b", "(?<!a)b", "(?=(a+)+)", "(?!x)", "(?>a+)", "a++", "(?(1)a|b)", "(?R)", "(?P<n", "(?", "(?#", r"\g<0>", r"\N{DASH}", r"\C", r"\Q"]
UNBAL = ["(", ")", "[", "]", "{", "}", "\\", "*", "+", "?", "|", "^", "$", "[a", "a{", "a{1", "[z-a]", "[[:alpha:]", "((((((((((", "))))", "[^", "(?i", "a**", "a{2,1}"]
CHARS = ["\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e\u202d", "\u200b"*9, "\ufeff", "\x1b[31m", "\r\n", "\t", "\x7f", "\u2028", "é"*3, "e"+"\u0301"*500, "\U0001f600"*99, "١٢٣", "½", "ı", "İ", "ß", "ﬁ", "\x85", "\xa0", "\uffff", "𝟙", "²", "Ⅻ"]
LONG = [x * (65_536 // len(x)) for x in ("a", "9", " ", "(", "a+", "\0", ".", ",", ":", "1 h ", "\n", "_", "-", "/", "../", "%s", "[]", "φ", "\U0001f600", "1,", "1:", "“", "&", "e+", "0.1-", "x=", '"', "'", "\\", ";", "1e", "today ")]
FORMAT = ["%s", "%n"*50, "%99999999d", "%(x)s", "{}", "{0}", "{0.__class__}", "{0.__class__.__mro__}", "{:>999999999}", "{x!r}", "{{}}", "${jndi:ldap://x}", "#{7*7}", "{{7*7}}", "{% for x in y %}", "$(id)", "`id`", "%c%p%Q%", "%Y%Y%", "%", "$x", "~root", "; rm -rf /", "| id", "&& id"]
PATHS = ["../", "../../../../etc/passwd", "/etc/passwd", "..\\..\\x", "%2e%2e%2f", "....//", "/", ".", "..", "C:\\x", "file:///etc/passwd", "//evil.example/x", "a/../../b", "\\\\evil\\x", "con", "nul", "a"*256, "a"*5_000, "/proc/self/environ", "/dev/zero", "x\0.csv", "~", "http://evil.example/", "javascript:alert(1)", "data:text/html,x"]
HTML = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</script>", "<!--", "]]>", "&lt;", "&#x3c;", '"><b>', "' onmouseover='x", "<svg/onload=x>", "[x](javascript:alert(1))", "![x](//evil)", "<b>x</b>", "<?xml?>", "<!ENTITY x SYSTEM 'file:///'>"]
CSV = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", '=HYPERLINK("x")', '"', ",", "a,b", 'a"b', "a\nb", ";"]
SQL = ["%", "_", "%%%%", "a%", "_%_", "\\%", "' OR 1=1 --", "'; DROP TABLE traces; --", '" OR ""="', "1 UNION SELECT 1", "'||'", "*", "a*b?[c]", "\\", "NULL", "x' AND sleep(9)"]
NUMBERS = ["nan", "inf", "-inf", "1e999", "-1e999", "1e-999", "-0", "0", "-1", "1_0", "0x1f", "1e5e5", "9"*400, "9"*5_000, "1."*99, "1,000", "1.000,5", "+", "-", ".", "e", "1e", "18446744073709551616", "253402300800", "-1e308", "True", "None", "null", "[]", "{}", "undefined"]
TIMES = ["0001-01-01 00:00", "9999-12-31 23:59", "2026-02-30 10:00", "24:61", "25:00", "0 pm", "13 pm", "-1 h", "1e9 h", "9"*30+" d", "2026-12-24", "tomorrow", "today", "99999999999 s", "0.0000001 s", "1 h 1 h 1 h", "2026-W53-7T10:00", "2026-12-24T10:00+99:99", "0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59", "12:00 am", "²:00", "١٢:٠٠"]
ADDR = ["?", "?&&&", "?x=%ff", "?traces=%00", "?" + "a=1&"*2_000, "?traces=" + "x"*9_000, "?traces[]=1", "?k=1e999&phase=-1", "#", "?%", "?a=b=c", "?execution=%ed%a0%80", "?experiment=../x", "?engine=<b>", "?model=1;x"]
JSONS = ['{"a":', "["*500, "[" * 60_000, '{"a":' * 20_000, '"\\ud800"', "1e400", '{"__proto__":{}}', "[1,2", "tru"]
# fmt: on
HOSTILE = [
    *dict.fromkeys(
        chain(BACK, REFS, UNBAL, CHARS, LONG, FORMAT, PATHS, HTML, CSV, SQL, NUMBERS, TIMES, ADDR, JSONS)
    )
]


def search_lines(text):
    """Look for what a label names in lines, and for a loss in a line that is hostile itself."""
    for label in (text, "reward", ""):
        reader = ProgressReader(label)
        for line in (text, f"reward={text}", f"loss={text}", f"epoch {text}/{text}", "a" * 500, "ab" * 250):
            reader.read(0.0, line)


def as_experiment(form):
    return lambda text: read_experiment(form.replace("{}", text))


PLACES = {
    "deadline": lambda text: read_deadline(text, NOW),
    "time zone": lambda text: read_deadline("18:00", NOW, text),
    "label and log": search_lines,
    "file name": safe_name,
    "cell": lambda text: list(render_csv(Table("t", [Column(text)], [(text,)]))),
    "experiment": as_experiment("{}"),
    "value of an experiment": as_experiment("name: {}"),
    "quoted in an experiment": as_experiment('name: "{}"'),
    **{each.name: lambda text, each=each: each.parse(each.name, text) for each in config.SETTINGS},
}


def fault_of(place, text):
    """What is wrong with the answer to a text, or None."""
    began = time.thread_time()
    try:
        place(text)
    except PhaseDockError as error:
        if not error.message or max(len(error.message), len(error.hint)) > MAX_SENTENCE_LENGTH:
            return f"no sentence: {error}"[:200]
    except Exception as error:  # noqa: BLE001 - whatever passes is what is looked for
        if type(error) is not ValueError or place not in (PLACES["deadline"], PLACES["time zone"]):
            return repr(error)[:200]
    taken = time.thread_time() - began
    return f"{taken:.1f} s" if taken > MOST_SECONDS else None


def test_hostile_texts_are_hundreds():
    assert len(HOSTILE) >= 300


@pytest.mark.parametrize("name", PLACES)
def test_any_text_gets_an_answer_or_a_sentence_at_once(name):
    faults = {text[:30]: fault for text in HOSTILE if (fault := fault_of(PLACES[name], text)) is not None}
    assert faults == {}


TYPED = ("value", "search", "pathname", "hash", "href", "searchValue")
PRESSED = {"n_clicks": 1, "n_submit": 1, "n_intervals": 1, "opened": True}


def own_id(text):
    """The id of a component; "x" for what a wildcard stands for."""
    if not text.startswith("{"):
        return text
    return {key: "x" if isinstance(value, list) else value for key, value in json.loads(text).items()}


def part(component, prop, **more):
    entry = {"id": own_id(component), "property": prop, **more}
    return [entry] if '["ALL"]' in component else entry


def request_of(key, entry, text):
    """What a browser sends when a text was put into every field that a callback reads."""

    def slot(one):
        value = text if one["property"] in TYPED else PRESSED.get(one["property"])
        return part(one["id"], one["property"], value=value)

    outputs = [
        part(each.rpartition(".")[0], each.rpartition(".")[2].partition("@")[0])
        for each in key.strip(".").split("...")
    ]
    trigger = own_id(entry["inputs"][0]["id"])
    written = (
        trigger if isinstance(trigger, str) else json.dumps(trigger, sort_keys=True, separators=(",", ":"))
    )
    return {
        "output": key,
        "outputs": outputs if key.startswith("..") else outputs[0],
        "inputs": [slot(one) for one in entry["inputs"]],
        "state": [slot(one) for one in entry["state"]],
        "changedPropIds": [f"{written}.{entry['inputs'][0]['property']}"],
    }


@pytest.fixture
def ask(settings, caplog):
    """Ask a callback; returns its status, whether its error has no sentence of its own, and seconds."""
    app = create_app(settings)
    client = app.server.test_client(use_cookies=False)

    def call(key, text):
        caplog.clear()
        began = time.thread_time()
        body = request_of(key, app.callback_map[key], text)
        with caplog.at_level(logging.ERROR):
            answer = client.post("/_dash-update-component", json=body, base_url="http://127.0.0.1")
        unknown = any("unexpected error" in record.message for record in caplog.records)
        return answer.status_code, unknown, time.thread_time() - began

    call.app = app
    return call


@pytest.mark.slow
def test_every_callback_answers_any_text(ask, request):
    """One that answers a plain text has a sentence for all others."""
    rng = Random(request.config.getoption("randomly_seed", 0))
    reading = [
        key
        for key, entry in ask.app.callback_map.items()
        if "callback" in entry
        and any(one["property"] in TYPED for one in (*entry["inputs"], *entry["state"]))
    ]
    assert len(reading) > 30
    faults = {}
    for key in reading:
        _, lacks_more, _ = ask(key, "x")
        for text in ("\ud800", *rng.sample(HOSTILE, min(TEXTS, len(HOSTILE)))):
            status, unknown, taken = ask(key, text)
            if status >= 500 or (unknown and not lacks_more) or taken > MOST_SECONDS:
                faults[key[:80], text[:30]] = (status, unknown, round(taken, 2))
    assert faults == {}
