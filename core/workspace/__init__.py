"""Persistent storage: the database, files, caches, and everything stored in them."""
