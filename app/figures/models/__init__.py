"""Figures of models."""
