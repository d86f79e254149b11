"""Time per step at each number of cores, beside the leaderboard of an experiment and as a file."""

import csv
import io

import pytest

from core.bootstrap import worker_for
from core.experiments.spec_reader import read_experiment
from tests.app.runs.test_arms import text_of

STAGED = """
version: 1
name: Resizes
workers: {cores: 2}
kinds:
  Kind: {work: 150, steps: 1500, threads: 2, malleable: false}
jobs:
  - {id: one, kind: Kind}
policies:
  - {policy: resizes, label: slowly, settings: {cores: 2 1 2, every: 20 s}}
  - {policy: resizes, label: quickly, settings: {cores: 2 1 2, every: 10 s}}
baseline: slowly
seeds: 2
"""


def run(place, text):
    task = place.runs.submit(read_experiment(text))
    worker_for(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


def test_resizes_are_compared_by_time_per_step(place, server):
    """Two threads on one core lose 2.4 seconds for each useful one: 0.05 and 0.34 s per step."""
    experiment = run(place, STAGED)
    text = text_of(experiment=experiment, show="all")
    for words in ("Time per step by cores", "0.050 s", "2 threads", "1.00 cores used"):
        assert words in text, words
    answer = server.test_client().get(f"/api/experiments/{experiment}/steps.csv")
    rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True).lstrip("\ufeff"))))
    assert {(row["policy"], row["stage"], row["limit"]) for row in rows} == {
        (label, stage, limit)
        for label in ("slowly", "quickly")
        for stage, limit in (("1", "2.0"), ("2", "1.0"), ("3", "2.0"))
    }
    slow = [float(row["step_seconds"]) for row in rows if row["stage"] == "2"]
    assert slow == pytest.approx([0.34] * len(slow), rel=0.1)


def test_other_policies_are_not(place):
    experiment = run(
        place,
        STAGED.replace("label: quickly, settings: {cores: 2 1 2, every: 10 s}", "label: quickly").replace(
            "policy: resizes, label: quickly", "policy: free, label: quickly"
        ),
    )
    assert "Time per step by cores" not in text_of(experiment=experiment, show="all")
