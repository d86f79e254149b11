"""Opening the workspace that the settings name, with every kind of task that is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.application import Workspace
from core.handlers import KINDS

if TYPE_CHECKING:
    from core.config import Settings


def open_workspace(settings: Settings) -> Workspace:
    """Open the workspace of these settings; makes its folders and tables where there are none.

    Raises
    ------
    SettingsError
        If the home folder cannot be written or the database cannot be used.
    """
    return Workspace(settings, KINDS, [name for name in KINDS if KINDS[name].brief])
