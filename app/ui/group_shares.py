"""What groups of executions do: the share of their time in each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.cache import cached
from app.context import workspace
from app.figures.shares import Group
from app.ui.phases.views import attributes, labelled

if TYPE_CHECKING:
    import pandas as pd

    from core.workspace.phase_labels import Labelling


def group_shares(trace_set_id: str, model_id: str, most: int = 7) -> tuple[list[Group], list[int], str]:
    """The share of time in each phase for the largest groups of executions."""
    labelling, prints = labelled(trace_set_id, model_id)
    table = workspace().traces.summary(trace_set_id)
    return cached(lambda: _group_shares(table, labelling, most), "groups", most, *prints)


def _group_shares(table: pd.DataFrame, labelling: Labelling, most: int) -> tuple[list[Group], list[int], str]:
    sizes_of = {name: len(set(table[name].astype(str))) for name in attributes(table)}
    by = max(sizes_of, key=lambda name: _usefulness(sizes_of[name], len(table)), default="")
    names = table[by].astype(str).to_numpy() if by else np.full(len(table), "all executions")
    groups, of_execution = np.unique(names, return_inverse=True)
    live = [column for column, each in enumerate(labelling.statistics) if each.phase >= 0]
    time = np.zeros((len(groups), len(live)))
    np.add.at(time, of_execution, labelling.shares[:, live] * table["samples"].to_numpy()[:, None])
    sizes = np.bincount(of_execution)
    largest = np.argsort(-sizes, kind="stable")[:most]
    shares = time / np.maximum(time.sum(axis=1, keepdims=True), 1)
    phases = [labelling.statistics[column].phase for column in live]
    return [Group(str(groups[g]), int(sizes[g]), shares[g].tolist()) for g in largest], phases, by


def _usefulness(groups: int, executions: int) -> float:
    """How telling an attribute is: best with a handful of groups; useless with one, or one per execution."""
    return -abs(np.log(groups / 8)) if 1 < groups < executions else -np.inf
