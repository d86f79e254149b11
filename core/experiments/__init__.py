"""Experiments as data: jobs and machines, random scenarios, measures of runs, and comparisons of policies.

`spec` and `parts` describe an experiment, `spec_reader` reads one; `scenarios` draws the jobs of a seed;
`outcome`, `measures`, `series`, `learning` and `step_times` say what became of a run; `leaderboard` compares
policies over seeds.
"""
