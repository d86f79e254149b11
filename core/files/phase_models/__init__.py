"""Model files: our own format, and AI4DL's published files read without executing them."""
