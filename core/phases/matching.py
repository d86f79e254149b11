"""Matches the columns of a trace set to the features of a model.

Features are found by name. Where a model's CPU or memory feature is missing by name, the set's only feature
of the same role takes its place if the units agree; anything else is an error. A plain unit matches a share
if the values tell that it is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, MismatchError
from core.traces.model import BESIDE, HELD_BACK_ROLES, SET_ROLES, Feature, Role, TraceSet
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.rows import Scaler

BY_ROLE = (Role.CPU, Role.MEMORY)
EXCLUDED_ROLES = (*SET_ROLES, *HELD_BACK_ROLES, Role.LOSS, Role.PHASE)
MAIN_UNIT = {Role.CPU: Unit.CORES, Role.MEMORY: Unit.BYTES}


def main_feature(features: Sequence[Feature], role: Role) -> Feature | None:
    """Return the feature that stands for a role: in cores or bytes if there is one, else the first."""
    having = [feature for feature in features if feature.role is role]
    exact = [feature for feature in having if feature.unit is MAIN_UNIT.get(role)]
    return next(iter(exact or having), None)


def default_features(traces: TraceSet) -> tuple[Feature, ...]:
    """The default features of a model: usage that varies; no limit, loss or phase.

    What is missing in some samples is none of them, as import leaves what goes in and out, and what is no
    usage at all.

    Raises
    ------
    InputError
        If no feature of the set varies.
    """
    usable = [
        feature
        for feature, values in zip(traces.features, traces.columns, strict=True)
        if feature.role not in EXCLUDED_ROLES
        and len(values)
        and values.min() != values.max()
        and not (feature.role in (*BESIDE, Role.OTHER) and np.isnan(values).any())
    ]
    if not usable:
        raise InputError(
            "No feature of these traces varies, so there are no phases to find.",
            "Choose traces with CPU or memory usage.",
        )
    return tuple(usable)


def named_features(traces: TraceSet, names: Sequence[str]) -> tuple[Feature, ...]:
    """Return the features of a set by name.

    Raises
    ------
    InputError
        If no name is given, one is given twice, or the set lacks one.
    """
    by_name = {feature.name: feature for feature in traces.features}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise InputError(
            f"The traces have no feature called {_quote_names(missing)}.", f"They have: {', '.join(by_name)}."
        )
    if not names or len(set(names)) < len(names):
        raise InputError(
            "Each feature must be chosen once, and at least one.", f"There are: {', '.join(by_name)}."
        )
    return tuple(by_name[name] for name in names)


def match_features(
    features: Sequence[Feature], traces: TraceSet, scaler: Scaler | None = None
) -> tuple[str, ...]:
    """The names of the set's columns that a model reads, in the model's order.

    Parameters
    ----------
    wanted
        The model's features.
    traces
        The set; one without samples is matched by its features alone.
    scaler
        What the model learned of its features; without it a unit that the model lacks may be any share.

    Raises
    ------
    MismatchError
        If a feature is missing or has another unit; the hint lists what is there.
    """
    by_name = {feature.name: feature for feature in traces.features}
    names = {feature.name for feature in features}
    matches = [
        by_name.get(feature.name) or _by_role(feature, features, traces, names) for feature in features
    ]
    listing = ", ".join(f"{feature.name} ({feature.unit})" for feature in traces.features)
    missing = [feature.name for feature, column in zip(features, matches, strict=True) if column is None]
    if missing:
        raise MismatchError(
            f"The model needs {_quote_names(missing)}, which these traces do not have.",
            f"They have: {listing}. Choose another model, or name the columns so in the mapping.",
        )
    columns = [column for column in matches if column is not None]
    for at, (feature, column) in enumerate(zip(features, columns, strict=True)):
        if feature.unit is not column.unit and not _are_both_shares(feature, column, traces, scaler, at):
            raise MismatchError(
                _other_unit(feature, column),
                f"They have: {listing}. Import the file again in the model’s unit, or train on this set.",
            )
    return tuple(column.name for column in columns)


def _are_both_shares(
    feature: Feature, column: Feature, traces: TraceSet, scaler: Scaler | None, at: int
) -> bool:
    """Return whether both features are shares, one of them read without its unit."""
    if {feature.unit, column.unit} != {Unit.PLAIN, Unit.SHARE}:
        return False
    if column.unit is Unit.PLAIN:
        values = traces.column(column.name)
        finite = values[np.isfinite(values)]
        return not len(finite) or bool(finite.min() >= 0 and finite.max() <= 1)
    return scaler is None or _learned_as_shares(float(scaler.mean[at]), float(scaler.scale[at]))


def _learned_as_shares(mean: float, scale: float) -> bool:
    """Return whether values of this mean and standard deviation can all lie between 0 and 1.

    The variance of such values is at most m(1 − m) (Bhatia and Davis, "A better bound on the variance",
    2000). A scale of 1 is a feature that never changed.
    """
    return 0 <= mean <= 1 and (scale == 1 or scale**2 <= mean * (1 - mean) + 1e-9)


def _other_unit(feature: Feature, column: Feature) -> str:
    if feature.unit is Unit.PLAIN:
        return (
            f"The model does not know the unit of “{feature.name}”, "
            f"and what it learned does not fit {column.unit}, in which these traces have it."
        )
    return f"The model reads “{feature.name}” in {feature.unit}, these traces have it in {column.unit}."


def _by_role(
    feature: Feature, features: Sequence[Feature], traces: TraceSet, used_names: set[str]
) -> Feature | None:
    alike = [each for each in features if each.role is feature.role]
    column = main_feature([each for each in traces.features if each.name not in used_names], feature.role)
    if feature.role not in BY_ROLE or len(alike) > 1 or column is None or column.unit is not feature.unit:
        return None
    return column


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)
