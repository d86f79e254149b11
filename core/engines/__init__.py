"""The engines that a scheduler can run jobs on; each implements the `Engine` port."""
