"""Phases: recurring patterns of resource usage, learned from samples (AI4DL: CRBM and k-means)."""

from core.phases.choosing.hyper_parameters import SearchSpace, Trial, search
from core.phases.choosing.phase_count import Candidate, Choice, choose_k, choose_k_for_model
from core.phases.describe import (
    QUANTILES,
    WARM_UP,
    FeatureStatistics,
    PhaseStatistics,
    Runs,
    phase_runs,
    phase_statistics,
)
from core.phases.dwell import suggested_minimum_dwell, with_minimum_dwell
from core.phases.fitting import fit
from core.phases.model import Expansion, PhaseModel, TrainingRecord
from core.phases.online import OnlineDetector
from core.phases.prediction import encode, expand, predict
from core.phases.settings import PRESETS, ApplicationSettings, PhaseSettings

__all__ = [
    "PRESETS",
    "QUANTILES",
    "WARM_UP",
    "ApplicationSettings",
    "Candidate",
    "Choice",
    "Expansion",
    "FeatureStatistics",
    "OnlineDetector",
    "PhaseModel",
    "PhaseSettings",
    "PhaseStatistics",
    "Runs",
    "SearchSpace",
    "TrainingRecord",
    "Trial",
    "choose_k",
    "choose_k_for_model",
    "encode",
    "expand",
    "fit",
    "phase_runs",
    "phase_statistics",
    "predict",
    "search",
    "suggested_minimum_dwell",
    "with_minimum_dwell",
]
