"""The commands of running containers: watch, limit, attach, detach, record, release."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, opened_workspace, print_json
from core.errors import InputError

Engine = Annotated[
    str, typer.Option("--engine", help="Name of an engine, as Live shows it. Default: the first.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("watch")(watch)
    app.command("limit")(limit)
    app.command("attach")(attach)
    app.command("detach")(detach)
    app.command("record")(record)
    app.command("release")(release)


@answers
def watch(
    engine: Engine = "",
    seconds: Annotated[float, typer.Option(help="Duration in seconds; 0 runs until Ctrl+C.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Show what managed containers use, once a second; --json shows one sample."""
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        name = offline_live.engine_of(workspace, engine)
        with offline_live.watching(workspace):
            views = offline_live.views(workspace, name)
            if as_json:
                print_json(asdict(next(views)))
            else:
                table.watch(views, seconds)


@answers
def limit(
    container: Annotated[str, typer.Argument(help="Name of a container, or the beginning of its id.")],
    cpu: Annotated[
        str | None, typer.Option(help="Cores, or none for no limit.", show_default="as it is")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory, such as 4GiB.", show_default="as it is")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take its last change by hand back.")] = False,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Set the limits of one container by hand; --undo and `phasedock release` go back."""
    if undo == (cpu is not None or memory is not None):
        raise InputError(
            "Either a limit or --undo is needed.", "Try phasedock limit NAME --cpu 2, or limit NAME --undo."
        )
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        name = offline_live.engine_of(workspace, engine)
        if undo:
            change = offline_live.undo_limit(workspace, name, container)
        else:
            change = offline_live.set_limit(workspace, name, container, cpu, memory)
    if as_json:
        print_json(asdict(change))
    else:
        table.limit_changed(change)


@answers
def attach(
    policy: Annotated[str, typer.Argument(help="Name of a scheduling policy, such as autopilot.")],
    control: Annotated[
        bool, typer.Option("--control", help="Let it change limits. Default: it shows what it would do.")
    ] = False,
    may_raise: Annotated[
        bool, typer.Option("--may-raise", help="Let it give a container more than the limits it came with.")
    ] = False,
    reattach: Annotated[
        bool,
        typer.Option("--reattach/--no-reattach", help="Attach it again by itself after its worker ended."),
    ] = True,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set one of the policy's settings, such as itval=20; may be repeated."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Attach a policy to the labelled and picked containers, after naming them; a worker runs it."""
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        name = offline_live.engine_of(workspace, engine)
        touched = offline_live.steered(workspace, name)
        mode = "control" if control else "watch"
        if not as_json:
            table.to_be_touched(policy, mode, name, touched)
        if not yes and not typer.confirm("Attach it?", err=as_json):
            raise typer.Exit(1)
        task = offline_live.attach(
            workspace, name, policy, change or (), mode, may_raise=may_raise, reattach=reattach
        )
    if as_json:
        print_json({"task": task, "engine": name, "mode": mode, "containers": touched})
    else:
        table.attached(policy, name)


@answers
def detach(engine: Engine = "", as_json: Json = False) -> None:
    """Detach the policy of an engine and restore every limit that it changed; a worker does so."""
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        name = engine or workspace.live.engines.names[0]
        restored = offline_live.detach(workspace, name)
    if as_json:
        print_json({"engine": name, "restored": restored})
    else:
        table.detached(name, restored)


@answers
def record(
    name: Annotated[str, typer.Argument(help="Name of the new trace set.", show_default=False)] = "",
    seconds: Annotated[float, typer.Option(help="Duration in seconds; 0 runs until Ctrl+C.")] = 0.0,
    container: Annotated[
        list[str] | None,
        typer.Option(help="Container name or id; may be repeated. Default: all managed ones."),
    ] = None,
    model: Annotated[str, typer.Option(help="Id of a stored model whose phases are recorded, too.")] = "",
    background: Annotated[
        bool, typer.Option("--background", help="Leave it to a worker, until `phasedock record --stop`.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the recording that a worker makes.")] = False,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Record running containers into a trace set, one sample a second, here or in the background."""
    if stop == bool(name):
        raise InputError("Either a name or --stop is needed.", "Try phasedock record NAME, or record --stop.")
    if background and seconds:
        raise InputError(
            "A recording in the background has no duration.", "Stop it: phasedock record --stop."
        )
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        if background:
            where = offline_live.engine_of(workspace, engine)
            task = offline_live.start_recording(workspace, where, name, container or (), model or None)
            if as_json:
                print_json({"task": task, "engine": where, "name": name})
            else:
                table.recording(name, where)
            return
        with show.progress(quiet=as_json) as progress:
            if stop:
                where = engine or workspace.live.engines.names[0]
                trace_set = offline_live.stop_recording(workspace, where)
            else:
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
    from core.cli import live_output as table
    from core.cli import offline_live

    with opened_workspace() as workspace:
        result = offline_live.release(workspace, engine or None)
    if as_json:
        print_json(asdict(result))
    else:
        table.released(result)
    if result.failed:
        raise typer.Exit(1)
