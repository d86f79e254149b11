"""A short campaign of kills; the long one is ``python -m tests.campaigns.kills``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.campaigns.kills import Campaign

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.long
@pytest.mark.loopback
@pytest.mark.timeout(300)
def test_what_is_killed_is_up_again_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    figures = Campaign(tmp_path / "home", seed=3, overlap=1.0).run(kills=3)
    assert sum(figures.kills.values()) == 3
    assert figures.uploads
    assert figures.lost == []
