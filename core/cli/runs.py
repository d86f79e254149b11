"""The commands of experiments: list them, run them, and replay what was run."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, opened_workspace, print_json
from core.config import load_settings


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("experiments")(experiments)
    app.command("simulate")(simulate)
    app.command("replay")(replay)


@answers
def experiments(
    name: Annotated[str, typer.Option("--show", help="Print the YAML of this experiment.")] = "",
    as_json: Json = False,
) -> None:
    """List the bundled experiments."""
    from core.cli import run_output as table
    from core.runs import bundled

    if name:
        text = bundled.text(name)
        if as_json:
            print_json({"name": name, "experiment": bundled.load(name).to_dict(), "yaml": text})
        else:
            typer.echo(text, nl=False)
        return
    loaded = [(each, bundled.load(each)) for each in bundled.names()]
    if as_json:
        plain = [{"name": each, "experiment": experiment.to_dict()} for each, experiment in loaded]
        print_json({"experiments": plain})
    else:
        table.print_experiments(loaded)


@answers
def simulate(
    experiment: Annotated[
        str, typer.Argument(help="YAML or JSON file, or the name of a bundled experiment.")
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds. Default: those of the experiment.")] = 0,
    policies: Annotated[str, typer.Option(help="Comma-separated policy labels. Default: all.")] = "",
    baseline: Annotated[
        str, typer.Option(help="Label of the policy that the others are compared with.")
    ] = "",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a field or a policy's setting, such as flowcon.alpha=0.05; may be repeated.",
        ),
    ] = None,
    ledgers: Annotated[
        str, typer.Option(help="Save ledgers for: first (seed of each policy), all or none.")
    ] = "first",
    jobs: Annotated[
        bool, typer.Option("--jobs", help="With --json: what became of each job that has a deadline.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment, simulated or in containers as it says, and compare its policies."""
    settings = load_settings()
    from core.bootstrap import open_workspace
    from core.cli import offline_experiments as offline_runs
    from core.cli import run_output as table
    from core.plugins import load_policies

    load_policies(settings.policies)
    chosen = offline_runs.choose_experiment(
        experiment, seeds=seeds, policies=policies, baseline=baseline, changes=change or []
    )
    keep = offline_runs.read_keep(ledgers)
    workspace = open_workspace(settings)
    try:
        with show.progress(quiet=as_json) as progress:
            report = offline_runs.simulate(workspace, chosen, keep, progress, jobs=jobs)
    finally:
        workspace.close()
    if as_json:
        print_json(report)
    else:
        table.print_simulation(report)


@answers
def replay(
    run: Annotated[str, typer.Argument(help="The run's id, as simulate --json gives it.")],
    as_json: Json = False,
) -> None:
    """Show a run's policy its ledger again, and say whether it decides the same."""
    from core.cli import offline_experiments as offline_runs
    from core.cli import run_output as table

    with opened_workspace() as workspace:
        report = offline_runs.replay(workspace, run)
    if as_json:
        print_json(report)
    else:
        table.print_replay(report)
    if not report["equal"]:
        raise typer.Exit(1)
