"""Phases steer running containers: a fitted policy is asked each second what a container is given."""
