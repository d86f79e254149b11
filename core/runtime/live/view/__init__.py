"""What screens and the command line are told about running containers."""
