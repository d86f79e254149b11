"""The frame around every page: rail, top bar, search, help, notifications."""
