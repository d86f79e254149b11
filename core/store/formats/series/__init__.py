"""Files of series, one measurement of one container each, brought together by container and time."""
