"""Figures: values in, `plotly` figures out. No callbacks, no files; usable from a notebook."""
