"""Phases as pages show them: cards, statistics, and the list of executions with their strips."""
