"""How far traces are from what a model was trained on, and teaching it what it does not know."""
