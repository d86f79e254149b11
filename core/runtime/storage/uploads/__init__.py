"""Uploaded files: how they arrive, what they are together, and what was chosen for them."""
