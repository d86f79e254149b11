"""Expressions that people write: searched as Python does, in bounded time, or refused by name."""

import contextlib
import re
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.progress import ProgressReader, labelled_value
from core.progress.labels import LONGEST_EXPRESSION, LONGEST_LINE, MOST_BYTES, Expression
from tests.timing import cpu_seconds

BOUND_S = 0.05
NUMBER = "=([0-9]+)"


def nested():
    """Repetitions of what can itself repeat."""
    inner = ("a+", "a*", ".*", r"\w+", "[ab]+", "a?", "a|a", "a|aa", "a|b|ab", r"\d*x?", ".*?", "(?:a*)*")
    outer = ("+", "*", "+?", "*?", "{2,}", "{9}", "{2,30}", "{100}")
    return [f"(?:{each}){again}{NUMBER}" for each, again in product(inner, outer)]


def counted():
    """Repetitions that are counted, one in the other."""
    counts = ((1000,), (500, 2), (26, 26), (12, 12), (100, 100), (10, 10, 10), (5, 5, 5, 5), (1000, 1000))
    bases = ("a", ".", "a?", "[^é]", r"(?i:\pL)", "(?:a|b)?", "^*", "(?:)")
    return [
        "(?:" * len(each) + base + "".join(f"){{{n}}}" for n in each) + NUMBER
        for base, each in product(bases, counts)
    ]


def long_ones():
    """Long alternatives, long runs, and many groups that may be left out."""
    alternatives = ["|".join("a" * n for n in range(1, 21)), "|".join("ab" * (n % 9) for n in range(25))]
    runs = [
        ".*" * 140,
        ".*?" * 90,
        "a?" * 70 + "a" * 70,
        r"\w*" * 95,
        r"(?:.|\s)*" * 30,
        "x*" * 140,
        "(?:a|)" * 45,
    ]
    return [f"(?:{each})*{NUMBER}" for each in alternatives] + [each + NUMBER for each in runs]


def automata():
    """Expressions whose automaton has more states than fit anywhere."""
    return [
        f"(?:{each}){{{n}}}{NUMBER}" for each in ("[ab]*a[ab]", ".*a.", "(?:a|b)*?b.") for n in (9, 60, 200)
    ] + [f"[ab]*a[ab]{{{n}}}{NUMBER}" for n in (10, 20, 50, 100, 500)]


def beyond_re2():
    """What Python's engine can do and RE2 cannot."""
    pieces = (
        "(?=a+)+", "(?!a+)*", "(?<=a)", "(?<!a)b", "(?:(?=(?:a+)+b))", r"(?P<x>a+)(?P=x)", r"(?>a+)", "a++",
        "a*+", "a?+", "a{2,}+", r"(?:a+)+(?<!b)", r"(?P<y>a)(?(1)b|c)", "(?x)a +", "(?#c)a", r"\N{DASH}",
        r"(?a)\w", r"(?u)\w"
    )  # fmt: skip
    return [piece + NUMBER for piece in pieces] + [r"(a+)+\1", r"(.*)\1\1", r"(\w+)\s\1"]


FAMILIES = (nested, counted, long_ones, automata, beyond_re2)
LINES = (
    "a" * LONGEST_LINE,
    "ab" * (LONGEST_LINE // 2),
    "x" * (LONGEST_LINE - 1) + "!",
    "".join("ab"[(n * n * 7 + n // 3) % 2] for n in range(LONGEST_LINE - 2)) + "=1",
    "━" * (MOST_BYTES // 3),
    "\U00010348" * (MOST_BYTES // 4),
    "\U00010348" * LONGEST_LINE,
)


def test_hostile_expressions_are_many():
    assert len({text for family in FAMILIES for text in family()}) >= 200


@pytest.mark.parametrize("family", FAMILIES)
def test_no_expression_takes_long_on_any_line(family):
    slow = {text: taken for text in family() if (taken := longest_search(text)) > BOUND_S}
    assert slow == {}


def longest_search(text):
    """CPU seconds for compiling an expression and searching the line that takes longest."""
    made = []
    refused = []

    def compile_it():
        try:
            made.append(ProgressReader(text))
        except InputError as error:
            refused.append(str(error))

    enough = BOUND_S / 4  # compiling and searching count together
    compiling = cpu_seconds(compile_it, enough)
    assert not any("no regular expression" in said or len(said) >= 400 for said in refused), text
    if not made:
        return compiling
    return compiling + max(cpu_seconds(partial(made[0].read, 0.0, line), enough) for line in LINES)


@pytest.mark.parametrize(
    "text",
    [
        r"loss(?=:): ([0-9.]+)",
        r"(?<!val_)loss: ([0-9.]+)",
        r"([0-9])\1",
        r"(?P<n>[0-9])(?P=n)",
        r"a++([0-9])",
        r"(?>a)([0-9])",
        r"(a)?(?(1)b|c)",
        r"(?x) a ([0-9])",
        r"\N{DASH}([0-9])",
        r"\C([0-9])",
        r"a{1001}([0-9])",
        r".{1000}([0-9])",
        r"(?:\pL){100}([0-9])",
        "(" + "x" * LONGEST_EXPRESSION,
        "x" * (LONGEST_EXPRESSION + 1),
        "(\ud800)",
        "([0-9",
    ],
)
def test_what_cannot_be_searched_for_is_refused_by_its_name(text, refuses):
    with refuses(InputError):
        labelled_value(text)


def test_a_group_may_have_any_name():
    assert labelled_value(r"ELBO (?P<value>-?[\d.]+)").find("ELBO -1.5") == -1.5


def test_a_line_with_half_a_surrogate_pair_is_searched():
    assert Expression(r".=(\d)").first_group("\udcff=3") == "3"


def python_group(text, line):
    """The first group of the first match by Python's engine, the honest twin."""
    match = re.search(text, line, re.ASCII)
    return None if match is None else match[1]


SPELLINGS = (
    r"ELBO\s+(-?[\d.]+)", r"step \d+ .*? reward=([-+]?\d+\.?\d*)", r"p = (\d+(?:\.\d+)?)", r"\((\d+)\)+",
    "[a+(]+=(.+)", r"(\S+)\Z", r"[\s]([^\s]+)$", r"[\b\]]?(\d+)", r"\u0045LBO\x20(.*)", r"\bp\b\W(.)",
    r"\ü(.)",
    r"a{,3}=(.)", r"(?i)elbo (\S*)", r"(?P<n>[^=]+)=", r"^(?:ELBO|p|step)\s(.{1,4}?)\s", r"[]x](.)", r"(x)?=",
    r"[{[](.)", r"\U00000045LBO(.)", r"\\(.)", r"\{,2}(.)"
)  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_of_python_finds_what_it_found(text):
    lines = (
        "ELBO  -12.5 loss=3", "step 7 of 9 reward=-0.5", "p = 3.25", "((12))", "a+(=x y", "ELBO\v4 \x08]9",
        "",
        "aaaa=b aaa=c", "p\xa05 ü7 größe=4", "]3 x5 \\6 {7 [8", "=", "{,2}4 {{5 }6"
    )  # fmt: skip
    assert [Expression(text).first_group(line) for line in lines] == [
        python_group(text, line) for line in lines
    ]


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "=",
        "1",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        r"\W",
        "[ab]",
        "[^a]",
        r"[\d.]",
        r"[^\s=]",
        "ü",
        r"\.",
        "(?:ab|a)",
    ]
)
REPEATED = st.tuples(
    ATOMS, st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{,2}", "{2,}?"])
)
RUNS = st.lists(REPEATED.map("".join), min_size=1, max_size=4).map("".join)
EDGES = st.sampled_from(["", "^", "$", r"\b", r"\B", r"\A", r"\Z"])
EXPRESSIONS = st.builds(
    "{}{}({}){}{}{}".format,
    EDGES,
    RUNS,
    RUNS | st.builds("{}|{}".format, RUNS, RUNS),
    st.sampled_from(["", "?"]),
    RUNS,
    EDGES,
)


@given(text=EXPRESSIONS, line=st.text(alphabet="ab1=. \tüx", min_size=1, max_size=30))
def test_expressions_find_what_python_finds(text, line):
    assert Expression(text).first_group(line) == python_group(text, line)


@given(st.text(alphabet=r"ab1(){}[]*+?|\.^$,-:<>=!PNbBdDwWsSAZzxuQEC#&~ü", max_size=25))
def test_any_text_is_searched_or_refused(text):
    with contextlib.suppress(InputError):
        found = labelled_value(text).find("ab1=ab1 a-b (1) [1] {1} üü a\tb")
        assert found is None or isinstance(found, float)
