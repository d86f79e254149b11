"""Policies on one container at a time, as its samples come, and keeping what they learned."""
