"""Costs of saving, moving and resizing the training programs, in real containers."""
