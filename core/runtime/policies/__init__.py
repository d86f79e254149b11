"""Policies from outside: loading them, their exam, and what their sources are."""
