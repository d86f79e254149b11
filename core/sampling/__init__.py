"""What containers use, as policies and pages see it: engines, samples, rings, phases."""
