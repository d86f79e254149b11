"""Experiments: their records, their ledgers, and running them."""
