"""The page Live."""

from app.pages.live.page import PAGE

__all__ = ["PAGE"]
