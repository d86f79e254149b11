"""Damage of every kind that files suffer on their way, or that somebody does to them.

Each mutation takes a source of chance and the bytes, and gives back other bytes.
"""

from __future__ import annotations

import gzip
import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ODD = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b"'",
    b",", b";",
    b"\t", b"|", b"#", b"{", b"[", b"\\", b"\x1b[31m", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80",
    b"\xc0\x80", b"\xf4\x90\x80\x80", b"nan", b"inf", b"-", b".", b"1e9", b"=1+1", b"PAR1", b"PK\x03\x04",
    b"\x1f\x8b", b"\x80\x04", "١٢".encode(), "½".encode(), "\U0001f600".encode(), b"NaN",
)  # fmt: skip
NUMBERS = (
    b"9" * 5_001, b"-" + b"9" * 400, b"1e999", b"-1e999", b"1e-999", b".", b"-.", b"+", b"-0", b"0x1f",
    b"1_0",
    b"1e5e5", b"1.2.3", b"nan", b"-inf", b"18446744073709551616", b"-9223372036854775809", b"2147483648",
    b"1e308", b"00000", b"99/99/99", b"0", b"-1", b"24:61:61", "٣".encode(), b"1e18", b"253402300800",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7")
STARTS = (
    b"PAR1", b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"{", b"[",
    b"\x80\x03",
    b"\x80\x04\x95", b"# hostname;interval;timestamp;", b"Linux 5 (n) 1/1/1 (", b"CPU %  MEM USAGE / LIMIT\n",
    b'{"CPUPerc":', b"\x78\x9c", b"\x93NUMPY", b"Obj\x01", b"\x28\xb5\x2f\xfd", b"\n\n", b"\x0c",
)  # fmt: skip
MARKS = (b",", b";", b"\t", b"|", b" ", b"\n", b"\r", b"\r\n", b'"', b"'", b".", b":", b"\x0b", b"\x00")


def damaged(rng: Random, data: bytes) -> bytes:
    """The data after one to four mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        data = rng.choice(MUTATIONS)(rng, data)
    return data


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    """A short stretch of the data, or now and then a long one."""
    start = rng.randrange(len(data) + 1)
    longest = rng.choice((1, 4, 16, 64, len(data)))
    return start, min(start + rng.randint(0, longest), len(data))


def flip(rng: Random, data: bytes) -> bytes:
    """Some bits the other way round."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: Random, data: bytes) -> bytes:
    """Without its end, or without its beginning."""
    place = rng.choice((rng.randrange(len(data) + 1), max(len(data) - rng.randint(1, 9), 0)))
    return data[:place] if rng.random() < 0.8 else data[place:]


def remove(rng: Random, data: bytes) -> bytes:
    """Without a part."""
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def repeat(rng: Random, data: bytes) -> bytes:
    """With a part several times."""
    start, end = _span(rng, data)
    times = rng.choice((2, 3, 50)) if end - start < 1_000 else 2
    return data[:start] + data[start:end] * times + data[end:]


def swap(rng: Random, data: bytes) -> bytes:
    """With two parts exchanged."""
    a, b, c, d = sorted(rng.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def insert(rng: Random, data: bytes) -> bytes:
    """With odd bytes somewhere."""
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice((rng.choice(ODD), rng.randbytes(rng.randint(1, 8)))) + data[place:]


def overwrite(rng: Random, data: bytes) -> bytes:
    """With odd bytes in place of others."""
    odd = rng.choice(ODD) * rng.choice((1, 1, 4))
    place = rng.randrange(len(data) + 1)
    return data[:place] + odd + data[place + len(odd) :]


def integer(rng: Random, data: bytes) -> bytes:
    """With an extreme number where a length may be."""
    value = rng.choice((0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1))
    made = struct.pack(rng.choice(("<Q", ">Q")), value)[: rng.choice((1, 2, 4, 8))]
    place = rng.randrange(len(data) + 1)
    return data[:place] + made + data[place + len(made) :]


def edges(rng: Random, data: bytes) -> bytes:
    """Damage to what a file begins or ends with."""
    size = min(len(data), 64)
    if rng.random() < 0.5:
        return flip(rng, data[:size]) + data[size:]
    return data[: len(data) - size] + flip(rng, data[len(data) - size :])


def begin(rng: Random, data: bytes) -> bytes:
    """As if it were something else."""
    start = rng.choice(STARTS)
    return start + data[rng.choice((0, len(start))) :]


def recode(rng: Random, data: bytes) -> bytes:
    """In another encoding, whole or cut in the middle of a character."""
    made = data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")
    return made[: len(made) - rng.choice((0, 0, 1, 2, 3))]


def number(rng: Random, data: bytes) -> bytes:
    """With something in place of a number that hardly is one."""
    found = list(re.finditer(rb"[-+]?\d[\d.]*", data))
    if not found:
        return data + rng.choice(NUMBERS)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(NUMBERS) + data[one.end() :]


def word(rng: Random, data: bytes) -> bytes:
    """With a word taken out, doubled, put elsewhere, or made enormous."""
    found = list(re.finditer(rb"\w+", data))
    if not found:
        return data
    one, other = rng.choice(found), rng.choice(found)
    new = rng.choice(
        (b"", other[0], one[0] * 2, b"x" * rng.choice((300, 5_000, 70_000)), b"null", b"[]", b"{}")
    )
    return data[: one.start()] + new + data[one.end() :]


def marks(rng: Random, data: bytes) -> bytes:
    """With one separator in place of another, everywhere or once."""
    old, new = rng.choice(MARKS), rng.choice(MARKS)
    return data.replace(old, new) if rng.random() < 0.7 else data.replace(old, new, 1)


def lines(rng: Random, data: bytes) -> bytes:
    """With its lines in another order, some of them missing or many times there."""
    parts = data.splitlines(keepends=True)
    kind = rng.randrange(4)
    if kind == 0:
        rng.shuffle(parts)
    elif kind == 1:
        parts = parts[1:]
    elif kind == 2:
        parts = [part for part in parts if rng.random() < 0.5]
    elif parts:
        parts *= rng.choice((2, 40)) if len(data) < 10_000 else 2
    return b"".join(parts)


def noise(rng: Random, data: bytes) -> bytes:
    """Nothing of it left, or the other way round, or noise behind it."""
    made = (b"", rng.randbytes(rng.randint(1, 300)), data[::-1], data + rng.randbytes(rng.randint(1, 300)))
    return rng.choice(made)


def bomb(rng: Random, data: bytes) -> bytes:
    """Small as a file, and large when it is unpacked."""
    if rng.random() < 0.9:
        return gzip.compress(data, 1)
    start, end = _span(rng, data)
    part = data[start:end] or b"\x00"
    return gzip.compress(data[:start] + part * (rng.choice((10_000, 1_000_000)) // len(part)) + data[end:], 1)


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    flip, cut, remove, repeat, swap, insert, overwrite, integer, edges, begin, recode, number, word,
    marks, lines,
    noise, bomb,
)  # fmt: skip
