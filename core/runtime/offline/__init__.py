"""Use cases of the command line that work on files, without a workspace."""
