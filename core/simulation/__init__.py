"""A world of workers and jobs with exact, seeded, event-driven time."""
