"""Hours and days of running containers: every second of the last hour, then ever longer means."""
