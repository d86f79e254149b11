"""Files damaged at random: the answer is what they hold, or a sentence, soon and in bounded memory.

Each run damages other files, told by the seed of pytest-randomly. A failure says how to see it again:
``PHASEDOCK_FUZZ_SEED`` sets the seed, ``PHASEDOCK_FUZZ_FILES`` how many files are made in all, and with
``PHASEDOCK_FUZZ_STRICT=1`` a file fails as well whose fault no reader has a sentence of its own for::

    PHASEDOCK_FUZZ_FILES=20000 PHASEDOCK_FUZZ_STRICT=1 python -m pytest tests/reading/test_broken_fuzz.py
"""

import gzip
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from core.errors import PhaseDockError
from core.reading.readers import UNKNOWN_DAMAGE
from tests.reading.formats import formats
from tests.reading.mutations import damaged

FORMATS = formats()
LONG = os.environ.get("PHASEDOCK_TESTS_LONG") == "1"
FILES = int(os.environ.get("PHASEDOCK_FUZZ_FILES", "5000" if LONG else "500"))
STRICT = os.environ.get("PHASEDOCK_FUZZ_STRICT") == "1"
MOST_TEXT, MOST_SECONDS, MOST_BYTES = 400, 3.0, 512 * 2**20
SECONDS_PER_MIB = 0.3  # a bomb is read until it is known to be one


@pytest.fixture
def seed(request):
    told = os.environ.get("PHASEDOCK_FUZZ_SEED")
    return int(told) if told else int(request.config.getoption("randomly_seed", 0))


def memory(what):
    """This process' memory in bytes: now (``VmRSS``) or at its most (``VmHWM``)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def cost_of(work):
    """What work takes: seconds of processor, and bytes of memory at its most."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before, begin = memory("VmRSS"), time.process_time()
    work()
    return time.process_time() - begin, memory("VmHWM") - before


def unpacked(path):
    """The bytes that a file holds, as far as it can be unpacked."""
    size = 0
    with gzip.open(path) as stream, suppress(OSError, EOFError, zlib.error):
        while part := stream.read(2**20):
            size += len(part)
    return max(size, path.stat().st_size)


def wrong_with(chosen, path):
    """What is wrong with the answer to a file, or None."""
    said = []

    def read():
        try:
            chosen.read(path)
        except PhaseDockError as error:
            said.append(error)

    try:
        seconds, size = cost_of(read)
    except Exception as error:  # noqa: BLE001 - whatever passes is what is looked for
        return f"{type(error).__name__}: {str(error)[:300]}"
    if size > MOST_BYTES or (seconds > MOST_SECONDS and seconds > unpacked(path) / 2**20 * SECONDS_PER_MIB):
        return f"took {seconds:.1f} s and {size >> 20} MiB"
    return wrong_words(said[0]) if said else None


def wrong_words(error):
    """What is wrong with the sentences of a refusal, or None."""
    longest = max(len(error.message), len(error.hint))
    if not error.message or not error.hint or longest > MOST_TEXT:
        return f"a sentence of {longest} characters: {str(error)[:300]!r}"
    if STRICT and UNKNOWN_DAMAGE in error.message:
        return f"only the guard has a sentence for it: {error.__cause__!r}"
    return None


@pytest.mark.parametrize("chosen", FORMATS.values(), ids=FORMATS)
def test_a_damaged_file_is_answered_soon_and_in_bounds(chosen, tmp_path, seed):
    found = {}
    for number in range(-(-FILES // len(FORMATS))):
        path = chosen.write(
            tmp_path / "file.csv", damaged(Random(f"{seed} {chosen.name} {number}"), chosen.content)
        )
        fault = wrong_with(chosen, path)
        if fault is not None:
            found[number] = fault
    assert not found, f"PHASEDOCK_FUZZ_SEED={seed}, {chosen.name}: {found}"


@pytest.mark.parametrize("chosen", [one for one in FORMATS.values() if one.content], ids=lambda one: one.name)
def test_the_whole_file_of_each_format_is_read(chosen, tmp_path):
    chosen.read(chosen.write(tmp_path / "file.csv", chosen.content))


REPEATED = ("\n", " ", "{", "[", "\n{", "0,", '"a",', " ;", "a=b,", "B/s in ", '"labels" ', "-")


PLACES = (0, 1, 4) if LONG else (1,)
"""Quarters of a file, after which something is repeated."""


@pytest.mark.parametrize("chosen", [one for one in FORMATS.values() if one.content], ids=lambda one: one.name)
def test_a_file_that_repeats_itself_is_answered_soon(chosen, tmp_path):
    """Backtracking took for ever over 4,000 empty lines, or brackets that are never closed."""
    found = {}
    for piece in REPEATED if LONG else REPEATED[:4]:
        for place in (quarters * len(chosen.content) // 4 for quarters in PLACES):
            many = 30_000 // len(piece) * piece.encode()
            content = chosen.content[:place] + many + chosen.content[place:]
            fault = wrong_with(chosen, chosen.write(tmp_path / "file.csv", content))
            if fault is not None:
                found[piece, place] = fault
    assert not found
