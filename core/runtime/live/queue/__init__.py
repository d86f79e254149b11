"""Submitted jobs: what a person asks for, the queue of an engine, and what becomes of each job."""
