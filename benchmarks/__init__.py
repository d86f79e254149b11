"""Benchmarks of `make bench`: each figure is a ratio against an honest reference, measured in one run."""
