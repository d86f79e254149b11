"""What jobs say: through their agent's files, or in what they print."""
