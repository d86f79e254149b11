"""The usage of containers for policies and pages: engines, samples, rings, phases."""
