"""Changing limits by hand, and restoring the earlier ones."""
