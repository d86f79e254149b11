"""The commands that train, import and expand phase models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.cli.options import File, Force, Mapping, Model, Out

if TYPE_CHECKING:
    from core.phases import PhaseModel


def register(app: typer.Typer) -> None:
    """Add the group ``model`` to the ``phasedock`` command."""
    group = typer.Typer(help="Train, import and expand phase models.", no_args_is_help=True)
    group.command("train")(model_train)
    group.command("import-ai4dl")(model_import_ai4dl)
    group.command("expand")(model_expand)
    app.add_typer(group, name="model")


@answers
def model_train(
    file: File,
    out: Out,
    phases: Annotated[int, typer.Option(help="Number of phases.")] = 5,
    hidden: Annotated[int, typer.Option(help="Number of hidden units (the length of the code).")] = 10,
    history: Annotated[int, typer.Option(help="Number of earlier samples in each window.")] = 3,
    learning_rate: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    epochs: Annotated[int, typer.Option(help="Maximum number of passes over all samples.")] = 100,
    solver: Annotated[str, typer.Option(help="Solver: minibatch, momentum or online.")] = "minibatch",
    encoder: Annotated[str, typer.Option(help="Encoder: crbm, window or pca.")] = "crbm",
    warmup: Annotated[str, typer.Option(help="Warm-up samples: label, or zeros as in AI4DL.")] = "label",
    patience: Annotated[int, typer.Option(help="Epochs without improvement before training stops.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Batch size of the minibatch solvers.")] = 8,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    feature: Annotated[
        list[str] | None, typer.Option(help="Column to use as a feature; may be repeated.")
    ] = None,
    mapping: Mapping = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train a phase model on a trace file."""
    from core.runtime.offline import models as offline

    values: dict[str, object] = {
        "phases": phases,
        "hidden": hidden,
        "history": history,
        "learning_rate": learning_rate,
        "epochs": epochs,
        "solver": solver,
        "encoder": encoder,
        "warmup": warmup,
        "patience": patience,
        "batch_size": batch_size,
        "seed": seed,
    }
    with show.progress(quiet=as_json) as progress:
        trained = offline.train(
            file, values, out, features=feature, mapping=mapping, force=force, progress=progress
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
    from core.runtime.offline import models as offline

    _model_answer(offline.convert_ai4dl(folder, out, force=force), out, as_json, {})


@answers
def model_expand(
    model: Model,
    file: File,
    phase: Annotated[int, typer.Option(help="Id of the phase to divide, as printed by predict (φ1 is 0).")],
    into: Annotated[int, typer.Option(help="Number of new phases.")],
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


def _model_answer(model: PhaseModel, out: Path, as_json: bool, facts: dict[str, Any]) -> None:
    if as_json:
        phases = [each.to_dict() for each in model.statistics]
        print_json({"model": str(out), "phases": list(model.phases), **facts, "statistics": phases})
    else:
        show.model(model, out, facts)
