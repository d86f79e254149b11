"""Waiting for what happens elsewhere: in a container, or in a worker."""

import time


def until(seen, seconds=30.0):
    """Wait until something is true; gives it."""
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def ended(space, task):
    """Wait until a task has ended; what is known of it then."""
    return until(lambda: info if (info := space.tasks.get(task)).state.ended else None)
