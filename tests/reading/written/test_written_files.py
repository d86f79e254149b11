"""Files that tools write are read as what was written, or with a question, a warning or a refusal.

A random set of traces is written in a random way; what comes back without any warning has to equal it. More
files: ``PHASEDOCK_WRITTEN_FILES=10000 python -m pytest tests/reading/written``; a failure names its seed.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.errors import PhaseDockError
from core.reading import inspect_file, read_with_report
from core.reading.mapping import ColumnMapping
from tests.reading.written import gpus, machines, pairs, processes, series, writers
from tests.reading.written.truth import truth

if TYPE_CHECKING:
    from pathlib import Path

    from core.traces.model import TraceSet
    from tests.reading.written.truth import Truth
    from tests.reading.written.writers import Lane, Written

FILES = int(os.environ.get("PHASEDOCK_WRITTEN_FILES", "420"))
CORES = 16.0
"""The machine of the trackers' percentages."""
WRITERS = {
    name: writer
    for module in (writers, gpus, machines, processes, pairs, series)
    for name, writer in module.WRITERS.items()
}


def outcome(folder: Path, known: Truth, written: Written) -> str:
    """``asked``, ``refused``, ``yellow`` or ``green``; a green one that is not what was written is said."""
    path = _write(folder, written)
    try:
        found = inspect_file(path)
        if found.mapping is None or found.questions:
            return "asked"
        mapping = replace(ColumnMapping.from_dict(found.mapping.to_dict()), cores=CORES, memory_bytes=None)
        traces, report = read_with_report(path, mapping)
    except PhaseDockError as error:
        return "refused" if error.hint else f"refused without a next step: {error}"
    return "yellow" if not report.faultless else differs(traces, known, written) or "green"


def _write(folder: Path, written: Written) -> Path:
    """The file, or the folder of all files that are read as one."""
    if written.others:
        folder = folder / "several"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for name, text in {written.name: written.text, **written.others}.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder if written.others else folder / written.name


def differs(traces: TraceSet, known: Truth, written: Written) -> str:
    """What of a set is not what was written."""
    held = written.held(known)
    if sorted(held) != sorted(traces.ids):
        return f"executions {traces.ids} instead of {tuple(held)}"
    times = known.start + known.period * np.arange(written.first, known.samples)
    begins = {"epoch": times[0], "day": times[0] % 86_400}
    for name, lanes in held.items():
        mine = traces.execution(name)
        if written.gaps:
            said = _describe_invented(traces, mine, known, lanes)
            if said:
                return f"{name}: {said}"
            continue
        if len(mine.time) != len(times) or not np.allclose(np.diff(mine.time), known.period, atol=1e-3):
            return f"{name}: {len(mine.time)} samples every {traces.period} s"
        if written.clock != "any" and abs(mine.time[0] - begins[written.clock]) > 1e-3:
            return f"{name}: begins at {mine.time[0]}, not {begins[written.clock]}"
        for lane in lanes:
            said = _wrong(traces, lane, mine.columns, lane.values[written.first :])
            if said:
                return f"{name}: {said}"
    return ""


def _describe_invented(traces: TraceSet, mine, known: Truth, lanes) -> str:
    """Whether more than a hundredth of the samples are not those that were taken at their times."""
    at = (mine.time - known.start) / known.period
    place = np.rint(at).astype(int)
    if np.abs(at - place).max() > 1e-3 or place.min() < 0 or place.max() >= known.samples:
        return "samples at times at which none was taken"
    for lane in lanes:
        feature = next((one for one in traces.features if one.role is lane.role), None)
        if feature is None:
            return f"no {lane.role}"
        wrong = int((np.abs(mine.columns[feature.name] - lane.values[place]) > lane.error).sum())
        if wrong > 0.01 * traces.n_samples:
            return f"{wrong} of {len(place)} values of {lane.role} were not taken"
    return ""


def _wrong(traces: TraceSet, lane: Lane, columns, values) -> str:
    features = [one for one in traces.features if one.role is lane.role and lane.part in one.name]
    if not features:
        return f"no {lane.role} {lane.part}"
    worst = float(np.abs(columns[features[0].name] - values).max())
    said = f"{lane.role} {lane.part} is wrong by {worst:g} (rounding is {lane.error:g})"
    return "" if worst <= lane.error else said


@pytest.mark.timeout(max(120, FILES // 10))
@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_read_without_a_warning_is_what_was_written(kind, tmp_path, request):
    seed = int(request.config.getoption("randomly_seed", 0)) if FILES <= 1000 else 811
    outcomes: Counter[str] = Counter()
    for n in range(FILES // len(WRITERS)):
        chance = Random(f"{kind} {seed} {n}")
        known = truth(chance)
        written = WRITERS[kind](known, chance)
        said = outcome(tmp_path, known, written)
        if said not in ("asked", "refused", "yellow", "green"):
            (tmp_path / "failed").write_text(written.text)
            shown = "".join(f"\n--- {name}\n{text[:600]}" for name, text in written.others.items())
            pytest.fail(
                f"{kind}, seed {seed}, file {n} ({written.name}): {said}\n{written.text[:600]}{shown}"
            )
        outcomes[said] += 1
    # a reader that doubts everything is never wrong; of few files, chance may leave few without a mark
    sure = outcomes["green"] if sum(outcomes.values()) >= 100 else outcomes["green"] + outcomes["yellow"]
    assert sure > 0.1 * sum(outcomes.values()), outcomes
