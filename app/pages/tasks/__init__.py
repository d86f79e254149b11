"""The page Tasks."""

from app.pages.tasks.page import PAGE

__all__ = ["PAGE"]
