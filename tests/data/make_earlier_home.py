"""Makes the folder that stands for what an earlier PhaseDock wrote: `home_of_0_1_0.tar.xz`.

The sources of that version made it, by the same steps; here they are written in today's names, so that a home
of today can be made the same way for versions to come::

    python tests/data/make_earlier_home.py tests/data/home_of_VERSION.tar.xz

The archive holds one of everything that is stored, and `seen.json`: what that version showed of it.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from dataclasses import asdict
from pathlib import Path

from core.application import Workspace
from core.bootstrap import worker_for
from core.config import Settings
from core.engines.docker_host.limits import Limits
from core.engines.values import EngineKey
from core.live.control.saved_limits import BY_HAND, SavedLimitsStore
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.workspace.evaluations import Question
from core.workspace.records import TaskState
from tests.builders import small_model, small_traces, write_csv
from tests.experiments.making import RANDOM, some
from tests.runtime.kinds_for_tests import kinds_for_tests, until

ENGINE = EngineKey("local", "")
SETTINGS = EvaluationSettings(cycle=100.0, group_by="workload", holdout=0.5, draws=100)
POLICIES = ("prev.step.max", "phase.rule")
CONTAINER = "c0ffee" * 10 + "abcd"
LIMITS = Limits(cpu_quota=150_000, cpu_period=100_000, memory=2**30, memory_swap=-1, cpu_shares=512)


def fill(place: Workspace) -> None:
    """Put one of everything into an empty workspace."""
    _tasks(place)
    traces = small_traces(4)
    kept = place.traces.add(traces, None, name="Kept", source="kept.csv")
    dropped = place.traces.add(small_traces(1, seed=2), None, name="Dropped")
    model = place.models.add(small_model(traces), name="Three phases", trace_set=kept)
    place.traces.trash(dropped.id)
    place.labels.get(kept.id, model.id)
    place.evaluations.make(Question(kept.id, model.id, SETTINGS, POLICIES))
    place.runs.make(some(RANDOM.replace("count: 3, first", "count: 1, first")))
    holds = SavedLimitsStore(place.database)
    for owner in (BY_HAND, "5f" * 8):
        holds.keeper(owner).keep(ENGINE, CONTAINER, LIMITS)
    holds.note(ENGINE, CONTAINER, "web", LIMITS)
    holds.pick("local", CONTAINER, "web")
    _upload(place)


def _upload(place: Workspace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = write_csv(Path(folder) / "a.csv", small_traces(1)).read_bytes()
    place.uploads.receive(place.uploads.begin("sent.csv", len(data)), [data])


def _tasks(place: Workspace) -> None:
    """Tasks that are done, failed, cancelled and waiting, with curves and logs."""
    worker = worker_for(place, threads=1)
    worker.start()
    made = [
        place.tasks.submit(kind, kind.title(), params)
        for kind, params in (("count", {"steps": 5}), ("refuse", {}), ("break", {"by": 0}))
    ]
    until(lambda: all(place.tasks.get(task).state.ended for task in made))
    worker.stop()
    place.tasks.cancel(place.tasks.submit("count", "Cancelled", {"steps": 1}))
    place.tasks.submit("count", "Waiting", {"steps": 1})


def summary_of(place: Workspace) -> dict[str, object]:
    """What a person is shown of a workspace, as JSON; the same of every version."""
    sets = [*place.traces.list(), *place.traces.list(trashed=True)]
    (model,) = place.models.list()
    kept = next(info for info in sets if info.trashed is None)
    runs = place.runs.list()
    made = {
        "trace_sets": [asdict(info) for info in sets],
        "samples": {info.id: place.traces.load(info.id).column("cpu_cores").tolist() for info in sets},
        "models": [asdict(model)],
        "loss": asdict(place.models.load(model.id).training),
        "labels": place.labels.get(kept.id, model.id).labels.tolist(),
        "tasks": [
            {
                **asdict(task),
                "metrics": place.tasks.metrics(task.id),
                "log": place.tasks.log(task.id, internal=True),
            }
            for task in place.tasks.list(
                states=[state for state in TaskState if state is not TaskState.RUNNING]
            )
        ],
        "evaluations": {
            folder.name: place.evaluations.get(folder.name).report
            for folder in sorted((place.settings.home / "evaluations").iterdir())
            if (folder / "report.json").exists()
        },
        "experiments": [
            {"id": each.id, "name": each.name, "runs": each.runs, "report": each.report}
            for each in place.runs.experiments()
        ],
        "runs": [{"run": asdict(run), "result": place.runs.result(run.id).to_dict()} for run in runs],
        "replays": {
            run.id: [len(place.runs.ledgers.ticks(run.id)), len(place.runs.replay(run.id))]
            for run in runs
            if run.ticks
        },
        "holds": [
            asdict(hold) | {"engine": hold.engine.name} for hold in SavedLimitsStore(place.database).all()
        ],
        "picked": sorted(SavedLimitsStore(place.database).picked("local")),
        "uploads": [[asdict(info), place.uploads.path(info.id).read_text()] for info in place.uploads.list()],
    }
    plain: dict[str, object] = json.loads(json.dumps(made, default=str))
    return plain


def make(archive: Path) -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        space = Workspace(Settings(home=home), kinds_for_tests())
        fill(space)
        shown = summary_of(space)
        space.close()
        (home / "seen.json").write_text(json.dumps(shown), encoding="utf-8")
        with tarfile.open(archive, "w:xz", preset=9) as tar:
            tar.add(home, "home", filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if entry.name.endswith(("-shm", "-wal")):
        return None  # empty once the database is closed
    return entry.replace(deep=False, uid=0, gid=0, uname="", gname="")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
