"""The verdict: what each workload has now, what is recommended, and what that is worth at which risk."""
