"""The commands on files: inspect traces, make phase models, and print phases and their sequences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli import output as show
from core.cli.answers import (
    Answers,
    File,
    Force,
    Json,
    Mapping,
    Model,
    Out,
    answers,
    options,
    print_json,
    taking,
)

if TYPE_CHECKING:
    from core.phases import PhaseModel


def register_traces(app: typer.Typer) -> None:
    """Add the group ``traces`` to the ``phasedock`` command."""
    group = typer.Typer(help="Inspect trace files.", no_args_is_help=True)
    group.command("check")(traces_check)
    group.command("formats")(traces_formats)
    app.add_typer(group, name="traces")


@answers
def traces_check(
    file: File, mapping: Mapping = None, set_columns: Answers = None, as_json: Json = False
) -> None:
    """Read a trace file and list what was wrong with it and what was done about it.

    Exits with 3 if numbers are doubtful, and with 4 if a question about a column is open.
    """
    from core.cli import offline_files as offline

    try:
        checked = offline.check(file, mapping, set_columns or ())
    except offline.OpenQuestionsError as error:
        if as_json:
            print_json(error.to_dict())
        else:
            show.open_questions(file, error)
        raise typer.Exit(4) from None
    if as_json:
        print_json(checked.to_dict())
    else:
        show.checked(file, checked)
    if not checked.report.faultless:
        raise typer.Exit(3)


@answers
def traces_formats(as_json: Json = False) -> None:
    """List the kinds of files that can be read, and the layouts of columns that are recognised."""
    from core.cli import offline_files as offline

    readable = offline.readable()
    if as_json:
        print_json(readable)
    else:
        show.readable(readable)


def register_phases(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("predict")(predict)
    app.command("sequences")(sequences)


@answers
def predict(
    model: Model,
    file: File,
    minimum_dwell: Annotated[
        float, typer.Option(min=0, help="Seconds; shorter segments join a neighbour. 0: as labelled.")
    ] = 0.0,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Print the phase of every sample, by execution: 1 is φ1, and 0 is warm-up."""
    from core.cli import offline_files as offline

    labels, names = offline.label(model, file, mapping, minimum_dwell, show.warning)
    if as_json:
        from core.units import phase_number

        numbered = {str(phase_number(phase)): name for phase, name in names.items()}
        print_json({"executions": labels, "phase_names": numbered})
    else:
        show.labels(labels, names)


@answers
def sequences(
    model: Model,
    file: File,
    memory: Annotated[
        int, typer.Option(help="Number of previous phases that the graph remembers: 1 to 3.")
    ] = 1,
    step: Annotated[
        str, typer.Option(help="Step of the graph: run, sample (with self-loops) or window (of samples).")
    ] = "run",
    warmup: Annotated[str, typer.Option(help="skip warm-up, or own to count it as a phase.")] = "skip",
    minimum_dwell: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds; shorter segments join a neighbour. 0: as labelled. Default: as they suggest.",
        ),
    ] = None,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Print the sequences of phases: prototypes, transitions, and dwell times."""
    from core.cli import offline_files

    analysed = offline_files.sequences(
        model, file, memory, step, warmup, minimum_dwell, mapping, show.warning
    )
    if as_json:
        print_json(analysed.to_dict())
    else:
        show.sequences(analysed)


def register(app: typer.Typer) -> None:
    """Add the group ``model`` to the ``phasedock`` command."""
    group = typer.Typer(help="Train, import and expand phase models.", no_args_is_help=True)
    group.command("train", cls=taking(_phase_settings))(model_train)
    group.command("import-ai4dl")(model_import_ai4dl)
    group.command("expand")(model_expand)
    app.add_typer(group, name="model")


def _phase_settings() -> type[Any]:
    from core.phases.settings import PhaseSettings

    return PhaseSettings


@answers
def model_train(
    context: typer.Context,
    file: File,
    out: Out,
    feature: Annotated[
        list[str] | None, typer.Option(help="Column to use as a feature; may be repeated.")
    ] = None,
    mapping: Mapping = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train a phase model on a trace file."""
    from core.cli import offline_files as offline

    with show.progress(quiet=as_json) as progress:
        trained = offline.train(
            file,
            options(context),
            out,
            features=feature,
            mapping=mapping,
            force=force,
            progress=progress,
        )
    errors = trained.model.training.errors
    facts = {"epochs": len(errors), "final_error": errors[-1] if errors else None, "seconds": trained.seconds}
    _model_answer(trained.model, out, as_json, facts)


@answers
def model_import_ai4dl(
    folder: Annotated[
        Path, typer.Argument(help="Folder that holds AI4DL's CRBM folder and its two joblib files.")
    ],
    out: Out,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Turn AI4DL's published files into a model of ours, without executing anything in them."""
    from core.cli import offline_files as offline

    _model_answer(offline.convert_ai4dl(folder, out, force=force), out, as_json, {})


@answers
def model_expand(
    model: Model,
    file: File,
    phase: Annotated[int, typer.Option(min=1, help="Number of the phase to divide: 3 for φ3.")],
    into: Annotated[int, typer.Option(help="Number of new phases.")],
    out: Out,
    seed: Annotated[int, typer.Option(help="The same seed gives the same phases.")] = 0,
    mapping: Mapping = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Divide a phase into new ones; labels of other samples do not change."""
    from core.cli import offline_files as offline

    expanded = offline.divide(model, file, phase - 1, into, out, seed=seed, mapping=mapping, force=force)
    _model_answer(expanded, out, as_json, {"divided": phase})


def _model_answer(model: PhaseModel, out: Path, as_json: bool, facts: dict[str, Any]) -> None:
    if as_json:
        from core.units import phase_number

        numbers = [phase_number(phase) for phase in model.phases]
        phases = [
            {"phase_number": phase_number(values.pop("phase")), **values}
            for values in (each.to_dict() for each in model.statistics)
        ]
        print_json({"model": str(out), "phase_numbers": numbers, **facts, "statistics": phases})
    else:
        show.model(model, out, facts)
