"""Controls and pieces that more than one page uses."""
