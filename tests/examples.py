"""How many examples a property is tried on, where each of them takes long."""

from hypothesis import settings


def fewer(by, **more):
    """A part of the profile's examples: a half, a quarter; `more` goes to Hypothesis' settings."""
    return settings(max_examples=max(1, settings().max_examples // by), **more)
