"""Submitted jobs: their states, their store, and their observation by policies."""
