"""Settings of FlowCon; the first of every choice is the default."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.placement import placement_setting
from core.settings_fields import setting

GROWTHS = {"endpoints": "The loss at the interval's two ends", "means": "Mean losses of two intervals"}
NEW_LIMITS = {
    "one": "The whole node",
    "ratio": "Its part of all growth, at least an equal share",
    "multiplicative": "Its limit times one plus its part of all growth",
}
UNKNOWNS = {
    "known": "Sum the growth that is known",
    "unknown-inf": "The lower bound while any growth is unknown",
}
THRESHOLDS = {"absolute": "Nothing: a growth per second", "peak": "The job's own largest growth"}
LIMITS = {
    "hard": "A quota; unused time is not shared",
    "soft": "Weights; unused time goes to others",
    "hybrid": "Weights; a quota in the list of converging jobs only",
}
PRESETS = {f"Threshold {percent}%": {"alpha": percent / 100} for percent in (1, 3, 5, 10, 15)}
"""The thresholds of the thesis' experiments, by their names."""


@dataclass(frozen=True)
class FlowConSettings:
    """FlowCon's parameters and variants."""

    alpha: float = setting(
        0.03,
        label="Threshold",
        symbol="α",
        low=0.0001,
        high=1.0,
        help="Growth below which a job moves on in the lists.",
    )
    itval: float = setting(
        20.0, label="Interval", low=1.0, high=3600.0, unit="s", help="Time between two decisions."
    )
    beta: float = setting(
        2.0,
        label="Divisor of the floor",
        symbol="β",
        low=1.0,
        high=100.0,
        help="A converging job keeps at least its equal share of the node divided by this.",
    )
    growth: str = setting(
        "endpoints", label="Growth measured by", choices=GROWTHS, help="Which losses a growth compares."
    )
    new_limit: str = setting(
        "one", label="Limit in the new list", choices=NEW_LIMITS, help="The limit of a quickly growing job."
    )
    unknown: str = setting(
        "known",
        label="Unknown growth",
        choices=UNKNOWNS,
        help="How a job whose growth is not known yet counts.",
    )
    threshold: str = setting(
        "absolute",
        label="Threshold relative to",
        choices=THRESHOLDS,
        help="What the threshold is a share of.",
    )
    limits: str = setting(
        "hard", label="Enforcement", choices=LIMITS, help="How limits are enforced on the machine."
    )
    work_conserving: bool = setting(
        False, label="Work-conserving", help="Raise all limits by one factor where the node would idle."
    )
    back_off: int = setting(
        16,
        label="Longest interval",
        low=1,
        high=1024,
        unit="intervals",
        help="The longest interval that doubling can reach.",
    )
    placement: str = placement_setting()
