"""What is shown of an engine now, read from the files that its watcher writes."""
