"""A stable fingerprint of a trace set's content: results and models record by it what they were made from.

The fingerprint is a SHA-256 over executions, offsets, breaks, period, features and every value in canonical
form (64-bit little-endian floats, each NaN alike), so it does not depend on how a set was stored.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.traces.model import FloatArray, TraceSet


def column_digest(values: FloatArray) -> bytes:
    """The digest of one column; equal values give equal digests whatever their float width."""
    plain = np.ascontiguousarray(values, dtype="<f8")
    if np.isnan(plain.sum()):
        plain = np.where(np.isnan(plain), np.nan, plain)
    return hashlib.sha256(plain.data).digest()


def combine(traces: TraceSet, digests: list[bytes]) -> str:
    """The fingerprint of a set whose columns have these digests (the features' in order, then time's)."""
    whole = hashlib.sha256()
    names = [*traces.ids, *(f"{f.name}\x1f{f.role}\x1f{f.unit}" for f in traces.features)]
    for key, values in sorted(traces.attributes.items()):
        names += [key, *values]
    whole.update("\x1e".join(names).encode("utf-8", "surrogatepass"))
    whole.update(np.asarray(traces.offsets, dtype="<i8").tobytes())
    whole.update(np.asarray(traces.breaks, dtype="<i8").tobytes())
    whole.update(f"{traces.period!r} {traces.resampling}".encode())
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()


def fingerprint(traces: TraceSet) -> str:
    """The fingerprint of a trace set: 64 hexadecimal digits, equal for equal content only."""
    return combine(traces, [column_digest(values) for values in (*traces.columns, traces.time)])
