"""The scheduling engine over Docker hosts: observing jobs and performing actions."""
