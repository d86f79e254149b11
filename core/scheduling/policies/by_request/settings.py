"""What can be chosen of the policies that give every job its request."""

from __future__ import annotations

from dataclasses import dataclass

from core.scheduling.queue_settings import memory_setting, unasked_setting
from core.settings_fields import setting


@dataclass(frozen=True)
class RequestSettings:
    """What a job gets that says nothing."""

    unasked: float = unasked_setting()
    memory: float = memory_setting()


@dataclass(frozen=True)
class LaxitySettings(RequestSettings):
    """Also when laxities are looked at."""

    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600, unit="s", help="Time after which the order is found anew."
    )
