"""What can be chosen of the policies that give every job its request."""

from __future__ import annotations

from dataclasses import dataclass

from core.settings_fields import setting


@dataclass(frozen=True)
class RequestSettings:
    """What a job gets that says nothing."""

    unasked: float = setting(
        1.0,
        label="Without a request",
        low=0.01,
        high=4096,
        unit="cores",
        help="Cores that a job gets which asks for none.",
    )
    memory: float = setting(
        0.8,
        label="Memory in use",
        low=0.05,
        high=1.0,
        help="Share of a machine’s memory beyond which nothing starts there.",
    )


@dataclass(frozen=True)
class LaxitySettings(RequestSettings):
    """Also when laxities are looked at."""

    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600, unit="s", help="Time after which the order is found anew."
    )
