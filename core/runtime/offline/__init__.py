"""What the command line does with files alone, without a workspace."""
