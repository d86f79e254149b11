"""Evaluating policies: exams on containers never seen, metrics, comparison, intervals."""
