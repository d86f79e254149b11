"""The policies there are: one module each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.policies.current_step import CURRENT_STEP_MAX, CURRENT_STEP_RULES
from core.provisioning.policies.prev_step import PREV_STEP_MAX, PREV_STEP_P95, PREV_STEP_RULES
from core.provisioning.policies.static import STATIC_P95, STATIC_PEAK, STATIC_REQUEST
from core.registry import Registry

if TYPE_CHECKING:
    from core.provisioning.policy import Policy

POLICIES: Registry[Policy] = Registry("policy")
for _policy in (
    CURRENT_STEP_MAX,
    CURRENT_STEP_RULES,
    PREV_STEP_MAX,
    PREV_STEP_RULES,
    PREV_STEP_P95,
    STATIC_PEAK,
    STATIC_REQUEST,
    STATIC_P95,
):
    POLICIES.add(_policy.name, _policy)
