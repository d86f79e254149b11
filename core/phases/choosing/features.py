"""Which features are worth reading: those that vary, are never missing, and say something of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.matching import LEFT_OUT

if TYPE_CHECKING:
    from core.traces.model import Feature, FloatArray, TraceSet

SAME = 0.9999
"""Correlation from which two features are one: the second only counts it twice."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A feature that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsefulFeatures:
    """The features to read, and those that are not, with reasons."""

    features: tuple[Feature, ...]
    left_out: tuple[LeftOut, ...]


def useful_features(traces: TraceSet) -> UsefulFeatures:
    """The features of a set that a model should read.

    Raises
    ------
    InputError
        If none is left.
    """
    chosen: list[tuple[Feature, FloatArray]] = []
    left_out = []
    for feature, values in zip(traces.features, traces.columns, strict=True):
        reason = _against(feature, values, chosen)
        if reason:
            left_out.append(LeftOut(feature.name, reason))
        else:
            chosen.append((feature, values))
    if not chosen:
        raise InputError(
            "No feature of these traces varies, so there are no phases to find.",
            "Choose traces with CPU or memory usage.",
        )
    return UsefulFeatures(tuple(feature for feature, _ in chosen), tuple(left_out))


def _against(feature: Feature, values: FloatArray, chosen: list[tuple[Feature, FloatArray]]) -> str:
    """Why a feature is not read, after those that are; "" where nothing speaks against it."""
    if feature.role in LEFT_OUT:
        return "it is no usage"
    if not np.isfinite(values).all():
        return "it is missing in some samples"
    if not len(values) or values.min() == values.max():
        return "it never changes"
    return next((f"it says the same as {each.name}" for each, of in chosen if _same(values, of)), "")


def _same(one: FloatArray, other: FloatArray) -> bool:
    """Whether two features are the same but for their units."""
    a, b = one - one.mean(), other - other.mean()
    # by their sizes first, so that squares stay finite
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(abs(a @ b)) >= SAME * float(np.sqrt((a @ a) * (b @ b)))
