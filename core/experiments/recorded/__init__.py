"""Recorded executions of a trace set as the jobs of an experiment."""
