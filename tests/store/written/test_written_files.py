"""Files that tools write are read as what was written, or with a question, a warning or a refusal.

A random set of traces is written in a random way; what comes back without any warning has to equal it. More
files: ``PHASEDOCK_WRITTEN_FILES=10000 python -m pytest tests/store/written``; a failure names its seed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.errors import PhaseDockError
from core.store import inspect_file, read_with_report
from core.traces.mapping import ColumnMapping
from core.traces.model import Role
from core.units import Unit
from tests.store.written.truth import truth
from tests.store.written.writers import WRITERS

if TYPE_CHECKING:
    from pathlib import Path

    from core.traces.model import TraceSet
    from tests.store.written.truth import Truth
    from tests.store.written.writers import Written

FILES = int(os.environ.get("PHASEDOCK_WRITTEN_FILES", "700"))
CORES = 16.0
"""The machine of the trackers' percentages."""


def outcome(path: Path, known: Truth, written: Written) -> str:
    """``asked``, ``refused``, ``yellow`` or ``green``; a green one that is not what was written is said."""
    path.write_text(written.text, encoding="utf-8", newline="")
    try:
        found = inspect_file(path)
        if found.mapping is None or found.questions:
            return "asked"
        mapping = ColumnMapping.from_dict(found.mapping.to_dict()).with_machine(CORES, None)
        traces, report = read_with_report(path, mapping)
    except PhaseDockError as error:
        return "refused" if error.hint else f"refused without a next step: {error}"
    return "yellow" if not report.faultless else differs(traces, known, written) or "green"


def differs(traces: TraceSet, known: Truth, written: Written) -> str:
    """What of a set is not what was written."""
    single = "psrecord" in written.name
    names = [written.rename(name) for name in (known.names[:1] if single else known.names)]
    if sorted(set(names)) != sorted(traces.ids):
        return f"executions {traces.ids} instead of {names}"
    for p, name in enumerate(names):
        mine = traces.execution(name)
        times = known.start + known.period * np.arange(written.first, known.samples)
        if len(mine.time) != len(times) or not np.allclose(np.diff(mine.time), known.period, atol=1e-3):
            return f"{name}: {len(mine.time)} samples every {traces.period} s"
        if not single and abs(mine.time[0] - times[0]) > 1e-3:
            return f"{name}: begins at {mine.time[0]}, not {times[0]}"
        for role, values, error in (
            (Role.CPU, known.cpu[p], written.cpu),
            (Role.MEMORY, known.memory[p], written.memory),
        ):
            said = _wrong(traces, role, mine.columns, values[written.first :], error)
            if said:
                return f"{name}: {said}"
    return ""


def _wrong(traces, role, columns, values, error) -> str:
    feature = traces.feature(role)
    if feature is None:
        return f"no {role}"
    if feature.unit not in (Unit.CORES, Unit.BYTES):
        return f"{role} in {feature.unit}"
    worst = float(np.abs(columns[feature.name] - values).max())
    return "" if worst <= error else f"{role} is wrong by {worst:g} (rounding is {error:g})"


@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_read_without_a_warning_is_what_was_written(kind, tmp_path, request):
    seed = int(request.config.getoption("randomly_seed", 0)) if FILES <= 1000 else 811
    outcomes: Counter[str] = Counter()
    for n in range(FILES // len(WRITERS)):
        chance = Random(f"{kind} {seed} {n}")
        known = truth(chance)
        written = WRITERS[kind](known, chance)
        said = outcome(tmp_path / written.name, known, written)
        if said not in ("asked", "refused", "yellow", "green"):
            (tmp_path / "failed").write_text(written.text)
            pytest.fail(f"{kind}, seed {seed}, file {n} ({written.name}): {said}\n{written.text[:600]}")
        outcomes[said] += 1
    assert outcomes["green"] > 0.1 * sum(outcomes.values()), outcomes
