"""The commands of running containers: watch, record, release."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.config import load_settings

Engine = Annotated[
    str, typer.Option("--engine", help="Name of an engine, as Live shows it. Default: the first.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("watch")(watch)
    app.command("record")(record)
    app.command("release")(release)


@answers
def watch(
    engine: Engine = "",
    seconds: Annotated[float, typer.Option(help="Duration in seconds; 0 runs until Ctrl+C.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Show what managed containers use, once a second; --json shows one sample."""
    settings = load_settings()
    from core.bootstrap import open_workspace
    from core.cli import live_output as table
    from core.cli import offline_live

    workspace = open_workspace(settings)
    try:
        name = offline_live.engine_of(workspace, engine)
        with offline_live.watching(workspace):
            views = offline_live.views(workspace, name)
            if as_json:
                print_json(asdict(next(views)))
            else:
                table.watch(views, seconds)
    finally:
        workspace.close()


@answers
def record(
    name: Annotated[str, typer.Argument(help="Name of the new trace set.")],
    seconds: Annotated[float, typer.Option(help="Duration in seconds; 0 runs until Ctrl+C.")] = 0.0,
    container: Annotated[
        list[str] | None,
        typer.Option(help="Container name or id; may be repeated. Default: all managed ones."),
    ] = None,
    model: Annotated[str, typer.Option(help="Id of a stored model whose phases are recorded, too.")] = "",
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Record running containers into a trace set, one sample a second."""
    settings = load_settings()
    from core.bootstrap import open_workspace
    from core.cli import live_output as table
    from core.cli import offline_live

    workspace = open_workspace(settings)
    try:
        with show.progress(quiet=as_json) as progress:
            trace_set = offline_live.record(
                workspace,
                offline_live.engine_of(workspace, engine),
                name,
                seconds,
                containers=container or (),
                model=model or None,
                progress=progress,
            )
        info = workspace.traces.get(trace_set)
    finally:
        workspace.close()
    if as_json:
        facts = {"executions": info.n_executions, "samples": info.n_samples}
        print_json({"trace_set": info.id, "name": info.name, **facts})
    else:
        table.recorded(info)


@answers
def release(
    engine: Annotated[
        str, typer.Option("--engine", help="Restore limits on this engine only. Default: all engines.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Detach every policy and restore every limit that PhaseDock changed; needs no worker."""
    settings = load_settings()
    from core.bootstrap import open_workspace
    from core.cli import live_output as table
    from core.cli import offline_live

    workspace = open_workspace(settings)
    try:
        result = offline_live.release(workspace, engine or None)
    finally:
        workspace.close()
    if as_json:
        print_json(asdict(result))
    else:
        table.released(result)
    if result.failed:
        raise typer.Exit(1)
