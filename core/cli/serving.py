"""The commands that keep running, web and worker together or one alone, and the check of what they store."""

from __future__ import annotations

from dataclasses import asdict

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, opened_workspace, print_json
from core.config import load_settings

tasks_app = typer.Typer(help="Check tasks and their results.", no_args_is_help=True)


def register_tasks(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.add_typer(tasks_app, name="tasks")


@tasks_app.command("check")
@answers
def check(as_json: Json = False) -> None:
    """Look for contradictions in the database and the folders, and change nothing; 1 if there are any."""
    from core.application import check_store

    with opened_workspace() as workspace:
        result = check_store(workspace)
    if as_json:
        print_json(asdict(result))
    else:
        show.store_check(result)
    if result.findings:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("serve")(serve)
    app.command("worker")(worker)


@answers
def serve(as_json: Json = False) -> None:
    """Start web and worker, and print the address to open. Ctrl+C ends both."""
    settings = load_settings()
    from core.bootstrap import open_workspace
    from core.cli.supervisor import check_port, end_leftovers, log_to
    from core.cli.supervisor import serve as run

    end_leftovers(settings.home)
    check_port(settings)
    workspace = open_workspace(settings)
    workspace.sweep()
    workspace.close()
    log_to(settings.home, "serve")

    def announce(ready: bool) -> None:
        if as_json:
            print_json({"address": settings.address, "ready": ready})
        else:
            show.address(settings.address, settings.home, ready)

    raise typer.Exit(run(settings, announce))


@answers
def worker(as_json: Json = False) -> None:
    """Do the queued work until told to stop; `serve` starts one by itself."""
    settings = load_settings()
    from core.bootstrap import open_workspace, worker_for
    from core.cli.supervisor import log_to
    from core.plugins import log_refusals

    workspace = open_workspace(settings)
    log_to(settings.home, "worker")
    log_refusals()
    worker_for(workspace).run()
    if as_json:
        print_json({"stopped": True})
