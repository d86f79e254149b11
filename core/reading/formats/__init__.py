"""Readers of trace files: one file a format."""
