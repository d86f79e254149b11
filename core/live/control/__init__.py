"""Changing limits by hand, and restoring what was there before."""
