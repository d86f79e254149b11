"""Dividing a worker's cores: water-filling, weights, limits, and what would have been fair."""
