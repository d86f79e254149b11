"""Reading experiments from YAML, JSON or a form; what is invalid is refused with its position."""
