"""Recording running containers into trace sets."""
