"""The page Phases."""
