"""The page Tasks."""
