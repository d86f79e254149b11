"""Policies attached to running containers, and the log of what they do."""
