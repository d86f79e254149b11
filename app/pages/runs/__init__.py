"""The page Runs."""

from app.pages.runs.page import PAGE

__all__ = ["PAGE"]
