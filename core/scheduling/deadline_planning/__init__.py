"""What is promised to jobs with deadlines: their speeds, and cores over the time to come."""
