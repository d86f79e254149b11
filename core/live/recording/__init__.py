"""Recordings of running containers, on their way to trace sets."""
