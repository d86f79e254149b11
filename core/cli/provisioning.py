"""The commands that compare provisioning policies and recommend what to allocate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.cli.options import File, Mapping, Model


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("evaluate")(evaluate_policies)
    app.command("recommend")(recommend_resources)


@answers
def evaluate_policies(
    model: Model,
    file: File,
    cycle: Annotated[float, typer.Option(help="Seconds between two allocations.")] = 600.0,
    policies: Annotated[str, typer.Option(help="Comma-separated policy names, or all.")] = "all",
    group_by: Annotated[str, typer.Option(help="Column to group by; groups are held out as a whole.")] = "",
    holdout: Annotated[float, typer.Option(help="Share of containers or groups held out for testing.")] = 0.3,
    seed: Annotated[int, typer.Option(help="The same seed gives the same result.")] = 0,
    tolerance: Annotated[
        float, typer.Option(help="Share of time that may fall short, for every policy.")
    ] = 0.05,
    kappa: Annotated[
        float, typer.Option(help="Prior weight: own samples that count as much as the training set.")
    ] = 20.0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Refit the phases on the training containers only.")
    ] = False,
    allocations: Annotated[
        Path | None, typer.Option(help="Write every policy's allocation of each held-out sample to this CSV.")
    ] = None,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Compare provisioning policies on containers that they were not fitted on."""
    from core.runtime.offline import provisioning

    values = {
        "cycle": cycle,
        "group_by": group_by,
        "holdout": holdout,
        "seed": seed,
        "tolerance": tolerance,
        "kappa": kappa,
        "refit": refit,
    }
    names = [name.strip() for name in policies.split(",") if name.strip()]
    with show.progress(quiet=as_json) as progress:
        report = provisioning.compare(
            model, file, values, names or ["all"], mapping=mapping, allocations=allocations, progress=progress
        )
    if as_json:
        print_json(report)
    else:
        show.comparison(report)


@answers
def recommend_resources(
    model: Model,
    file: File,
    style: Annotated[str, typer.Option("--format", help="Output: json, csv, docker, vpa or patch.")] = "json",
    group_by: Annotated[str, typer.Option(help="Column that groups similar containers.")] = "",
    tolerance: Annotated[float, typer.Option(help="Share of time that may exceed the request.")] = 0.05,
    headroom: Annotated[float, typer.Option(help="Headroom of the limit above the highest demand.")] = 0.1,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Recommend request and limit for each phase and group of containers."""
    from core.runtime.offline import provisioning

    values = {"group_by": group_by, "tolerance": tolerance, "headroom": headroom}
    text = provisioning.advise(model, file, "json" if as_json else style, values, mapping)
    typer.echo(text, nl=False)
