"""The ``phasedock`` command.

Every subcommand has ``--json``: then exactly one JSON document goes to standard output, the result or
``{"error": {"message", "hint"}}``, and nothing else. Exit codes: 0 done, 1 could not be done, 2 wrong
usage or settings, 130 stopped with Ctrl+C. What is heavy is imported only where it is used, so that
``phasedock --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli import live, provisioning, runs
from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.cli.arguments import File, Mapping, Model  # noqa: TC001 - typer reads annotations
from core.cli.settings_options import given, taking
from core.config import load_settings

if TYPE_CHECKING:
    from core.phases import PhaseModel

app = typer.Typer(
    help="Shows the phases that training containers go through, and what each of them needs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
traces_app = typer.Typer(help="Look into trace files.", no_args_is_help=True)
model_app = typer.Typer(help="Train, import and expand phase models.", no_args_is_help=True)
app.add_typer(traces_app, name="traces")
app.add_typer(model_app, name="model")
provisioning.register(app)
runs.register(app)
live.register(app)

Out = Annotated[Path, typer.Option("--out", help="Where to save: a folder, or a file ending in .zip.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")]


def _phase_settings() -> type[Any]:
    from core.phases.settings import PhaseSettings

    return PhaseSettings


@app.command()
@answers
def serve(as_json: Json = False) -> None:
    """Start web and worker, and print the address to open. Ctrl+C ends both."""
    settings = load_settings()
    from core.runtime.samples import is_first_start, load_samples
    from core.runtime.serve import check_port
    from core.runtime.serve import serve as run
    from core.runtime.workspace import open_workspace

    check_port(settings)
    workspace = open_workspace(settings)
    workspace.sweep()
    if is_first_start(workspace):
        load_samples(workspace)
    workspace.close()

    def announce(ready: bool) -> None:
        if as_json:
            print_json({"address": settings.address, "ready": ready})
        else:
            show.address(settings.address, settings.home, ready)

    raise typer.Exit(run(settings, announce))


@app.command()
@answers
def worker(as_json: Json = False) -> None:
    """Do the queued work until told to stop; `serve` starts one by itself."""
    settings = load_settings()
    from core.runtime.logs import log_to
    from core.runtime.policies.load import log_refusals
    from core.runtime.tasks.worker import Worker
    from core.runtime.workspace import open_workspace

    workspace = open_workspace(settings)
    log_to(settings.home, "worker")
    log_refusals()
    Worker(workspace).run()
    if as_json:
        print_json({"stopped": True})


@traces_app.command("check")
@answers
def traces_check(file: File, mapping: Mapping = None, as_json: Json = False) -> None:
    """Read a trace file and list what was wrong with it and what was done about it."""
    from core.runtime.offline import models as offline

    checked = offline.check(file, mapping)
    if as_json:
        print_json(checked.to_dict())
    else:
        show.checked(file, checked)


@traces_app.command("formats")
@answers
def traces_formats(as_json: Json = False) -> None:
    """List the kinds of files that can be read, and the layouts of columns that are recognised."""
    from core.runtime.offline import models as offline

    found = offline.readable()
    if as_json:
        print_json(found)
    else:
        show.readable(found)


@model_app.command("train", cls=taking(_phase_settings))
@answers
def model_train(
    context: typer.Context,
    file: File,
    out: Out,
    feature: Annotated[list[str] | None, typer.Option(help="A column to read; repeat for more.")] = None,
    mapping: Mapping = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train a phase model on a trace file."""
    from core.runtime.offline import models as offline

    with show.progress(quiet=as_json) as progress:
        trained = offline.train(
            file, given(context), out, features=feature, mapping=mapping, force=force, progress=progress
        )
    errors = trained.model.training.errors
    facts = {"epochs": len(errors), "final_error": errors[-1] if errors else None, "seconds": trained.seconds}
    _model_answer(trained.model, out, as_json, facts)


@model_app.command("import-ai4dl")
@answers
def model_import_ai4dl(
    folder: Annotated[Path, typer.Argument(help="Folder with AI4DL's CRBM folder and two joblib files.")],
    out: Out,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Turn AI4DL's published files into a model of ours, without executing anything in them."""
    from core.runtime.offline import models as offline

    _model_answer(offline.convert_ai4dl(folder, out, force=force), out, as_json, {})


@model_app.command("expand")
@answers
def model_expand(
    model: Model,
    file: File,
    phase: Annotated[int, typer.Option(help="Id of the phase to divide, as predict prints it (φ1 is 0).")],
    into: Annotated[int, typer.Option(help="How many new phases.")],
    out: Out,
    seed: Annotated[int, typer.Option(help="The same seed gives the same phases.")] = 0,
    mapping: Mapping = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Divide a phase into new ones; labels of other samples do not change."""
    from core.runtime.offline import models as offline

    expanded = offline.divide(model, file, phase, into, out, seed=seed, mapping=mapping, force=force)
    _model_answer(expanded, out, as_json, {"divided": phase})


@app.command()
@answers
def predict(model: Model, file: File, mapping: Mapping = None, as_json: Json = False) -> None:
    """Print the phase of every sample, by execution."""
    from core.runtime.offline import models as offline

    labels = offline.label(model, file, mapping)
    if as_json:
        print_json({"executions": labels})
    else:
        show.labels(labels)


@app.command()
@answers
def sequences(
    model: Model,
    file: File,
    memory: Annotated[int, typer.Option(help="How many of the last phases the graph remembers: 1 to 3.")] = 1,
    step: Annotated[str, typer.Option(help="run, sample (with self-loops) or window (of samples).")] = "run",
    warmup: Annotated[str, typer.Option(help="skip, or own to count warm-up like a phase.")] = "skip",
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Print the sequences of phases: prototypes, transitions, and how long phases are stayed in."""
    from core.runtime.offline import sequences as offline_sequences

    found = offline_sequences.sequences(model, file, memory, step, warmup, mapping)
    if as_json:
        print_json(found.to_dict())
    else:
        show.sequences(found)


def _model_answer(model: PhaseModel, out: Path, as_json: bool, facts: dict[str, Any]) -> None:
    if as_json:
        phases = [each.to_dict() for each in model.statistics]
        print_json({"model": str(out), "phases": list(model.phases), **facts, "statistics": phases})
    else:
        show.model(model, out, facts)


def main() -> None:
    """Run the command; the entry point of the package."""
    # asked to end, a command ends as by Ctrl+C: what it changed is put back and what it started is removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
