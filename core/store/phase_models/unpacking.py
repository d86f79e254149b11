"""Decompressing foreign model files, with a bound on the result."""

from __future__ import annotations

import zlib

from core.errors import InputError
from core.store.phase_models.pickle_values import broken

MAX_BYTES = 64 * 2**20
OTHER_PACKINGS = {
    b"PK": "zip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"]\x00\x00": "lzma",
    b"\x04\x22M\x18": "lz4",
}


def unpacked(data: bytes) -> bytes:
    """Undo zlib or gzip, up to `MAX_BYTES`.

    Raises
    ------
    InputError
        If the content is too large, damaged, or compressed in another way.
    """
    for sign, packing in OTHER_PACKINGS.items():
        if data.startswith(sign):
            raise InputError(
                f"The model file is compressed with {packing}, which is not supported.",
                "Decompress it first, or save it again with joblib without compression.",
            )
    if data[:1] == b"\x78" or data[:2] == b"\x1f\x8b":
        data = _inflated(data)
    if len(data) > MAX_BYTES:
        raise _too_large()
    return data


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=47)
    try:
        plain = inflate.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise broken("its compression is damaged") from error
    if len(plain) <= MAX_BYTES and not inflate.eof:
        raise broken("it ends too early")
    return plain


def _too_large() -> InputError:
    return InputError(
        f"The model file is larger than {MAX_BYTES // 2**20} MiB.",
        "A phase model is far smaller: check the file.",
    )
