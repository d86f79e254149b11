"""Stepping through every decision of a run."""
