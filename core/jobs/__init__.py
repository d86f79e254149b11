"""What runs inside training containers: programs, and the agent that speaks with whoever steers them."""
