"""Submitted jobs on the page: the card with the queue, and the form by which a job is submitted."""
