"""PhaseDock's web application: Dash pages over the use cases of core."""
