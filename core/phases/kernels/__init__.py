"""The compiled loops under the phase model; each has a slow, obvious twin in ``tests/oracles``."""
