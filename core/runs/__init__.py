"""Experiments and runs of a workspace: `service` makes and stores them, `runner` runs one on its engine."""
