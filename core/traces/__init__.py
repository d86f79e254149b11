"""Traces: what was measured of containers, checked and brought to one form."""
