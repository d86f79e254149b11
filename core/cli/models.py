"""The commands that train, import and expand phase models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli import output as show
from core.cli.answers import File, Force, Json, Mapping, Model, Out, answers, print_json
from core.cli.settings_options import given, taking

if TYPE_CHECKING:
    from core.phases import PhaseModel


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
    from core.cli import offline_models as offline

    with show.progress(quiet=as_json) as progress:
        trained = offline.train(
            file, given(context), out, features=feature, mapping=mapping, force=force, progress=progress
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
    from core.cli import offline_models as offline

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
    from core.cli import offline_models as offline

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
