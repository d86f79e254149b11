"""What is measured of runs: times of jobs and queues, steps at each number of cores, learning."""
