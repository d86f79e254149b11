"""Schedulers as pure functions: what they see, what they do, and the port through which every engine asks."""
