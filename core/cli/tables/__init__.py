"""What the commands print of runs and of running containers: tables and sentences."""
