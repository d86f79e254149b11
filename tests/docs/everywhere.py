"""Run in a copy of PhaseDock to which everything of docs/extending.md was added: where it all is, as JSON.

``python everywhere.py OUTSIDE``, where OUTSIDE has the files that are no part of PhaseDock.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

from plotly.utils import PlotlyJSONEncoder

import core
from app.main import create_app
from app.pages import PAGES
from app.pages.live.callbacks import render_panel
from app.pages.live.policy import settings_form
from app.pages.provisioning.policy_settings import policy_controls
from app.pages.runs.builder import first_draft
from app.pages.runs.form import form as experiment_form
from core import plugins
from core.bootstrap import open_workspace, worker_for
from core.cli import main
from core.config import load_settings
from core.errors import InputError
from core.provisioning import policy_exam
from core.provisioning.policies import POLICIES
from core.reading import inspect_file
from core.reading.formats.register import list_titles
from core.reading.layouts import recognise_layout
from core.scheduling.policies import POLICIES as SCHEDULING
from tests.builders import small_traces, write_csv
from tests.runtime.kinds_for_tests import until


def command(*arguments):
    """What a command answers with --json."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main.app([*(str(each) for each in arguments), "--json"])
    return json.loads(said.getvalue())


def screen(*parts):
    """Components as the browser gets them."""
    return json.dumps(parts, cls=PlotlyJSONEncoder)


def provisioning(outside):
    """The policy of the walk-through, by form, command line, file, comparison and exam."""
    traces = small_traces(8, samples=80)
    csv = write_csv(outside / "jobs.csv", traces)
    model = outside / "model"
    command("model", "train", csv, "--encoder", "window", "--phases", 2, "--out", model)
    asked = ("evaluate", model, csv, "--policies", "last.sample,prev.step.max", "--cycle", 100)
    by_set = command(*asked, "--set", "last.sample.margin=0.5")
    by_file = command(*asked, "--settings", outside / "settings.yaml")
    return {
        "exam": policy_exam.sit(POLICIES["last.sample"]),
        "form": "What is added to the last sample." in screen(*policy_controls(["last.sample"], {})),
        "compared": sorted({row["policy"] for row in by_set["results"]}),
        "by_set": by_set["policy_settings"]["last.sample"],
        "by_file": by_file["policy_settings"]["last.sample"],
    }


def scheduling(outside):
    """The policy of the walk-through, by form, command line, run and exam."""
    made = command("simulate", outside / "mine.yaml", "--set", "fixed.share.share=0.25")
    return {
        "exam": plugins.find_fault(SCHEDULING["fixed.share"]),
        "form": "Of its worker, for every job." in screen(*settings_form("fixed.share")),
        "chosen": "fixed.share" in screen(*experiment_form(first_draft("new"))),
        "ran": {run["policy"]: run["settings"] for run in made["runs"]},
    }


def files(outside):
    """The format and the layout of the walk-through."""
    log = outside / "upload"
    log.write_text("".join(f"time={10 * i} name=a cpu_cores=0.{i} memory_bytes=5\n" for i in range(5)))
    listed = command("traces", "formats")
    return {
        "read": inspect_file(log).mapping is not None,
        "title": "key=value lines" in list_titles(),
        "formats": [each["name"] for each in listed["formats"]],
        "layouts": [each["name"] for each in listed["layouts"]],
        "recognised": recognise_layout(
            ("JobID", "Timestamp", "CPUs", "RSS"), (("1", "10", "2", "9"),)
        ).layout,
    }


def application():
    """The page and the kind of task of the walk-through, and which policies the screen offers."""
    server = create_app(load_settings()).server
    workspace = server.extensions["phasedock"]
    traces = workspace.traces.add(small_traces(2, samples=80), None, name="set")
    task = workspace.tasks.submit("count_samples", "Count samples", {"trace_set": traces.id})
    worker = worker_for(workspace, threads=1)
    worker.start()
    until(lambda: workspace.tasks.get(task).state.ended)
    worker.stop()
    client = server.test_client()
    with server.test_request_context("/notes", base_url="http://127.0.0.1:8050"):
        shown = screen(PAGES["Notes"].layout())
        offered = screen(PAGES["Provisioning"].layout())
    return {
        "task": workspace.tasks.get(task).result,
        "samples": traces.n_samples,
        "page": "1 trace sets" in shown,
        "status": client.get("/notes", base_url="http://127.0.0.1:8050").status_code,
        "offered": [name for name in ("last.sample", "my.max", "their.p95") if f'"{name}"' in offered],
    }


def refused(ask):
    """The sentence with which something is refused; "" where it is not."""
    try:
        ask()
    except InputError as error:
        return error.message
    return ""


def policy_card(space, name):
    """The card of the policy as Live draws it, once the engine was sampled."""
    worker = worker_for(space, threads=1)
    worker.start()
    until(lambda: space.live.view.request_view(name).rows)
    worker.stop()
    with create_app(load_settings()).server.test_request_context("/live", base_url="http://127.0.0.1:8050"):
        return screen(render_panel(space.live.view.request_view(name), "policy"))


def engine():
    """The engine of the walk-through: seen, steered and put back."""
    space = open_workspace(load_settings())
    try:
        live = space.live
        host = live.engines.host("practice")
        (container,) = host.containers()
        changed = live.limits.set_limit("practice", container.id, 0.5).after.cores
        return {
            "cores": live.engines.get("practice").cores,
            "watched": [row["name"] for row in command("watch", "--engine", "practice")["rows"]],
            "changed": changed,
            "restored": live.limits.release().restored,
            "after": host.inspect(container.id).limits.cores,
            "attached": refused(lambda: live.policies.attach("practice", "flowcon", {}, "watch")),
            "offered": policy_card(space, "practice"),
        }
    finally:
        space.close()


def tell():
    """Print everything."""
    outside = Path(sys.argv[1])
    found = {
        "core": core.__file__,
        "provisioning": provisioning(outside),
        "scheduling": scheduling(outside),
        "files": files(outside),
        "application": application(),
        "engine": engine(),
        "listed": {each["policy"]: each["source"] for each in command("policies")["policies"]},
        "refused": command("policies")["refused"],
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    tell()
