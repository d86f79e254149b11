"""Running containers: watched once a second, steered by hand or by a policy, recorded, restored."""
