"""The code inside training containers: the programs, and the agent that talks to the scheduler."""
