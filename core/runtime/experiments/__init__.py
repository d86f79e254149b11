"""Experiments and their runs: asked for, run, recorded, compared and replayed."""
