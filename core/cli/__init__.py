"""The ``phasedock`` command: one file per group of commands, and the formatting of their output."""
