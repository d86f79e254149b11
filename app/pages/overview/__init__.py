"""The page Overview."""

from app.pages.overview.page import PAGE

__all__ = ["PAGE"]
