"""The commands of provisioning: compare policies, list them, and write the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli import output as show
from core.cli.answers import File, Json, Mapping, Model, answers, options, print_json, taking
from core.config import policy_files


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("evaluate", cls=taking(_evaluation_settings))(evaluate_policies)
    app.command("policies")(list_policies)
    app.command("verdict", cls=taking(_evaluation_settings))(write_verdict)


def _evaluation_settings() -> type[Any]:
    from core.provisioning.evaluation.evaluate import EvaluationSettings

    return EvaluationSettings


@answers
def evaluate_policies(
    context: typer.Context,
    model: Model,
    file: File,
    policies: Annotated[str, typer.Option(help="Comma-separated policy names, usual, or all.")] = "all",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Set one of a policy's settings, such as event.tries=20; may be repeated."
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="YAML or JSON with “comparison” and, by policy, “policies”: their settings."),
    ] = None,
    allocations: Annotated[
        Path | None, typer.Option(help="Write every policy's allocation of each held-out sample to this CSV.")
    ] = None,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Compare provisioning policies on containers that they were not fitted on."""
    from core.cli import offline_provisioning
    from core.plugins import load_policies

    load_policies(policy_files())
    values, policy_settings = offline_provisioning.gathered(settings, options(context), change or [])
    names = [name.strip() for name in policies.split(",") if name.strip()]
    with show.progress(quiet=as_json) as progress:
        report = offline_provisioning.compare(
            model,
            file,
            values,
            names or ["all"],
            policy_settings=policy_settings,
            mapping=mapping,
            allocations=allocations,
            listener=offline_provisioning.Listener(progress, show.warning),
        )
    if as_json:
        print_json(report)
    else:
        show.comparison(report)


@answers
def list_policies(as_json: Json = False) -> None:
    """List all policies: where each comes from, its kind, its settings, and what was refused."""
    from core.plugins import listing, load_policies

    refused = load_policies(policy_files())
    rows = listing()
    if as_json:
        refusals = [{"policy": each.name, "source": each.source, "why": each.why} for each in refused]
        print_json({"policies": rows, "refused": refusals})
    else:
        show.policies(rows, [str(each) for each in refused])


@answers
def write_verdict(
    context: typer.Context,
    model: Model,
    file: File,
    style: Annotated[
        str, typer.Option("--format", help="Output: patch, vpa, helm, docker, json or csv.")
    ] = "json",
    policies: Annotated[str, typer.Option(help="Comma-separated policy names, usual, or all.")] = "usual",
    take: Annotated[
        list[str] | None,
        typer.Option(help="The policy to take for a resource, such as cpu=phase.rule; may be repeated."),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(help="A price or the length of a day, such as core_hour=0.05; may be repeated."),
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="The date that the file carries; today when left out.")
    ] = None,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Write what each workload has, needs and would save, as tables or manifests of the chosen policies."""
    from core.cli import offline_provisioning
    from core.plugins import load_policies

    load_policies(policy_files())
    names = [name.strip() for name in policies.split(",") if name.strip()]
    with show.progress(quiet=as_json) as progress:
        text = offline_provisioning.verdict_text(
            model,
            file,
            options(context),
            names or ["usual"],
            offline_provisioning.VerdictFile("json" if as_json else style, take or (), price or (), date),
            mapping=mapping,
            listener=offline_provisioning.Listener(progress, show.warning),
        )
    typer.echo(text, nl=False)
