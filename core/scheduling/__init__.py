"""Schedulers as pure functions: observations, actions, and the port that every engine uses."""
