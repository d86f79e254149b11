"""What is done about a decision: the difference between the books and what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.shares.resizing import changes

if TYPE_CHECKING:
    from core.scheduling.actions import Action
    from core.scheduling.policies.elastic.scene import Scene


def actions(scene: Scene) -> tuple[Action, ...]:
    """What was changed on the workers that were looked at, and who is turned away."""
    wanted = (
        (scene.jobs[job], name, 0.0 if held.paused else held.cores)
        for name in scene.changed
        for job, held in scene.books[name].held.items()
    )
    return changes(wanted, scene.refused)
