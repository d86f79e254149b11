"""What jobs report: through their agent's files, or in their output."""
