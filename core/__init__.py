"""The library of PhaseDock: traces, phases, and all that is decided from them. It knows no screen."""
