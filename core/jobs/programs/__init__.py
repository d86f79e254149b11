"""The training programs, and the data that they learn from."""
