"""What saving, moving and resizing cost the training programs, in real containers."""
