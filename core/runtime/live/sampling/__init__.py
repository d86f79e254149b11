"""Watching engines: samples once a second, usage, losses, phases, and the ring buffer."""
