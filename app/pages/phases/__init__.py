"""The page Phases."""

from app.pages.phases.page import PAGE

__all__ = ["PAGE"]
