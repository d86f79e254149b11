"""The ``phasedock`` command: one file a group of commands, and how their answers look."""
