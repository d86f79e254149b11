"""What `make bench` runs: each figure is a ratio against an honest reference, taken in one run."""
