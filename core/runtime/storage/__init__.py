"""What is stored: trace sets, models, uploads, phase labels, sequences, evaluations."""
