"""The page Sequences."""

from app.pages.sequences.page import PAGE

__all__ = ["PAGE"]
