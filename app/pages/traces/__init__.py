"""The page Traces."""
