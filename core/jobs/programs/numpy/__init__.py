"""The programs in NumPy."""
