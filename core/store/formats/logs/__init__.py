"""Logs of programs that are tables only after a look at each line."""
