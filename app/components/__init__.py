"""Controls and pieces of pages that more than one page uses."""
