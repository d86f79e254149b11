"""Runs beside each other: differences, figures, exports."""
