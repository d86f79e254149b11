"""The settings of a comparison: what is chosen, each policy's own, and what they do to the page."""
