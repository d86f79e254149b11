"""Experiments as data: what is run, how scenarios are drawn, what a run measures, and how policies compare.

`spec` and `parts` describe an experiment, `spec_reader` reads one; `scenarios` draws the jobs of a seed;
`outcome`, `measures`, `series`, `learning` and `step_times` say what became of a run; `leaderboard` compares
policies over seeds.
"""
