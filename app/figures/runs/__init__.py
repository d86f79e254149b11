"""Figures of runs."""
