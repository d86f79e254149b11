"""One Docker host: what runs there, what it uses and may use, and careful changes."""
