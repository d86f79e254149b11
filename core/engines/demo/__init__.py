"""The demo host: recorded jobs, replayed as running containers; nothing on it is real."""
