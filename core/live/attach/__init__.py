"""attach."""
