"""Stored trace sets: a folder that is written once and then only read."""
