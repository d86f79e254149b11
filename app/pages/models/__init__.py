"""The page Models."""

from app.pages.models.page import PAGE

__all__ = ["PAGE"]
