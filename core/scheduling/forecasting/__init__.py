"""What is left of a job, predicted: its loss curve, its steps, the points on its way, its time per step."""
