"""The conditional restricted Boltzmann machine: its parameters and its training."""
