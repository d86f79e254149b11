"""Planning for deadlines: speeds of jobs, plans of cores over time, histories of runs."""
