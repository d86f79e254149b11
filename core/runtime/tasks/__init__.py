"""Long work: recorded tasks, their states, the queue and the worker."""
