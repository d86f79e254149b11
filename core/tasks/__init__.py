"""Long work: the record of tasks, their states, the queue, and the worker that runs them."""
