"""Recorded jobs, replayed as the containers of one host: state and time give usage, without a real one."""
