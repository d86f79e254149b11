"""An experiment as validated data, and what its runs say when they are compared."""
