"""The commands of submitted jobs: submit, queue, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli.answers import Json, answers, options, print_json, taking
from core.config import load_settings
from core.errors import InputError

if TYPE_CHECKING:
    from core.application import Workspace

Engine = Annotated[
    str, typer.Option("--engine", help="Name of an engine, as Live shows it. Default: the first.")
]
Jobs = Annotated[list[str], typer.Argument(help="Names or ids of jobs.", show_default=False)]


def _settings() -> type[Any]:
    from core.live.queue.spec import JobSettings

    return JobSettings


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("submit", cls=taking(_settings))(submit)
    app.command("queue")(queue)
    app.command("cancel")(cancel)


@answers
def submit(
    context: typer.Context,
    ask: Annotated[
        bool, typer.Option("--ask", help="Only say whether its deadline could be met; submit nothing.")
    ] = False,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Let a job wait in an engine's queue; the policy that is attached in control starts it.

    With a deadline it says first whether that can be met, with how many cores, and which jobs would give way.
    """
    chosen = options(context)
    with _Opened(engine) as (workspace, name):
        queue = workspace.live.queue
        answer = queue.ask(name, chosen) if ask or chosen.get("deadline") else None
        job = None if ask else queue.submit(name, chosen)
    if as_json:
        outlook = {} if answer is None else {"outlook": answer.to_dict()}
        print_json(({} if job is None else job.to_dict()) | outlook)
    else:
        from core.cli import live_output as show

        if answer is not None:
            show.outlook(answer)
        if job is not None:
            show.submitted(job)


@answers
def queue(
    job: Annotated[str, typer.Argument(help="One job only, by name or id.", show_default=False)] = "",
    priority: Annotated[
        int | None, typer.Option(help="Give the job, which must wait, this priority first: 0 to 9.")
    ] = None,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Show an engine's jobs: which wait, since when and why, which run, and the last that are over."""
    if priority is not None and not job:
        raise InputError("--priority needs a job.", "Name it: phasedock queue JOB --priority 5.")
    with _Opened(engine) as (workspace, name):
        live = workspace.live.queue
        live.settle()
        if priority is not None:
            live.set_priority(name, job, priority)
        listed = [each for each in live.list(name) if job in ("", each.name, each.id)]
        if job and not listed:
            live.find(name, job)
    if as_json:
        print_json({"engine": name, "jobs": [each.to_dict() for each in listed]})
    else:
        from core.cli import live_output as show

        show.jobs(name, listed)


@answers
def cancel(
    jobs: Jobs,
    remove: Annotated[
        bool, typer.Option("--remove", help="Also remove what is over, with its container and its folder.")
    ] = False,
    engine: Engine = "",
    as_json: Json = False,
) -> None:
    """Cancel jobs: one that waits at once; one that runs is ended and its container removed."""
    with _Opened(engine) as (workspace, name):
        live = workspace.live.queue
        cancelled = [live.end(name, job, remove=remove) for job in jobs]
    if as_json:
        print_json({"engine": name, "jobs": [each.to_dict() for each in cancelled]})
    else:
        from core.cli import live_output as show

        show.ended(cancelled, removed=remove)


class _Opened:
    """The workspace and the name of an engine, for the length of a command; it need not answer."""

    def __init__(self, engine: str) -> None:
        self._engine = engine

    def __enter__(self) -> tuple[Workspace, str]:
        settings = load_settings()
        from core.bootstrap import open_workspace

        self._workspace = workspace = open_workspace(settings)
        names = workspace.live.engines.names
        return workspace, self._engine or next(iter(names), "")

    def __exit__(self, *_: object) -> None:
        self._workspace.close()
