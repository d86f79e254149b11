"""Reading experiments from YAML, JSON or a form; what cannot be is refused where it stands."""
