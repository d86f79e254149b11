"""Submitted jobs: their states, their store, and what policies make of them."""
