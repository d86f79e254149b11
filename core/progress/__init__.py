"""E(t): what a training program says of its loss, read from the lines that it prints."""
