"""The worlds that a scheduler can steer; each fills the `Engine` port."""
