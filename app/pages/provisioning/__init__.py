"""The page Provisioning."""

from app.pages.provisioning.page import PAGE

__all__ = ["PAGE"]
