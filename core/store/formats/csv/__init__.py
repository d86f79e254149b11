"""Text tables: what one looks like, the fast way to read it, and the exact one behind it."""
