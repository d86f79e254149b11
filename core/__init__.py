"""The PhaseDock library: traces, phases, and decisions made from them. It knows nothing of the web app."""
