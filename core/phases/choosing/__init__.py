"""Choosing the number of phases and the hyper-parameters."""
