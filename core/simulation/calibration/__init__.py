"""Fitting the simulator's constants to recorded runs."""
