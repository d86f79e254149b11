"""Requests and limits to set, with their reasons, and the files that set them."""
