"""A Docker host as an engine: real containers behind the same port as the simulator."""
