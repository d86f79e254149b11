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

from core.cli import live, runs
from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.cli.settings_options import given, taking
from core.config import load_settings, policy_files

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
runs.register(app)
live.register(app)

File = Annotated[Path, typer.Argument(help="Trace file; “phasedock traces formats” lists what can be read.")]
Model = Annotated[Path, typer.Argument(help="Model: a folder or a zip.")]
Out = Annotated[Path, typer.Option("--out", help="Where to save: a folder, or a file ending in .zip.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="JSON file that says what the columns are; recognised when left out."),
]


def _phase_settings() -> type[Any]:
    from core.phases.settings import PhaseSettings

    return PhaseSettings


def _evaluation_settings() -> type[Any]:
    from core.provisioning.evaluation.evaluate import EvaluationSettings

    return EvaluationSettings


def _recommend_settings() -> type[Any]:
    from core.provisioning.recommendation.recommend import RecommendSettings

    return RecommendSettings


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
    from core.runtime.tasks.worker import Worker
    from core.runtime.workspace import open_workspace

    workspace = open_workspace(settings)
    log_to(settings.home, "worker")
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


@app.command("evaluate", cls=taking(_evaluation_settings))
@answers
def evaluate_policies(
    context: typer.Context,
    model: Model,
    file: File,
    policies: Annotated[str, typer.Option(help="Names with commas between, or all.")] = "all",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Set one of a policy's settings, such as event.tries=20; repeat for more."
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="YAML or JSON with “comparison” and, by policy, “policies”: their settings."),
    ] = None,
    allocations: Annotated[
        Path | None, typer.Option(help="CSV for every policy's allocation of each held-out sample.")
    ] = None,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Compare provisioning policies on containers that they were not fitted on."""
    from core.runtime.offline import provisioning
    from core.runtime.policies.load import load_policies

    load_policies(policy_files())
    values, own = provisioning.gathered(settings, given(context), change or [])
    names = [name.strip() for name in policies.split(",") if name.strip()]
    with show.progress(quiet=as_json) as progress:
        report = provisioning.compare(
            model,
            file,
            values,
            names or ["all"],
            own=own,
            mapping=mapping,
            allocations=allocations,
            progress=progress,
        )
    if as_json:
        print_json(report)
    else:
        show.comparison(report)


@app.command("policies")
@answers
def list_policies(as_json: Json = False) -> None:
    """List all policies: where each comes from, its kind, its settings, and what was refused."""
    from core.runtime.policies.load import listing, load_policies

    refused = load_policies(policy_files())
    found = listing()
    if as_json:
        told = [{"policy": each.name, "source": each.source, "why": each.why} for each in refused]
        print_json({"policies": found, "refused": told})
    else:
        show.policies(found, [str(each) for each in refused])


@app.command("recommend", cls=taking(_recommend_settings))
@answers
def recommend_resources(
    context: typer.Context,
    model: Model,
    file: File,
    style: Annotated[str, typer.Option("--format", help="json, csv, docker, vpa or patch.")] = "json",
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Recommend request and limit for each phase and group of containers."""
    from core.runtime.offline import provisioning

    text = provisioning.advise(model, file, "json" if as_json else style, given(context), mapping)
    typer.echo(text, nl=False)


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
