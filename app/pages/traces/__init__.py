"""The page Traces."""

from app.pages.traces.page import PAGE

__all__ = ["PAGE"]
