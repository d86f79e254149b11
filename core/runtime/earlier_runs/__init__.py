"""What earlier runs of each kind of job have shown of its speed."""
