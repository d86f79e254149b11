"""Figures of sequences."""
