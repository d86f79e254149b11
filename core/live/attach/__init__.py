"""A policy on running containers: its loop, its activity, its stored run."""
