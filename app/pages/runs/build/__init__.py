"""Building an experiment: a form, its YAML, and a preview."""
