"""Changing running containers: limits by hand, saved limits, restoring."""
