"""The verdict: each workload's current amount, a recommendation, its value and its risk."""
