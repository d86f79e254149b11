"""Running containers: watching, control, attached policies, submitted jobs, recordings."""
