"""The command that checks the consistency of tasks and of what they stored."""

from __future__ import annotations

from dataclasses import asdict

import typer

from core.cli import output as show
from core.cli.answers import Json, answers, print_json
from core.config import load_settings

tasks_app = typer.Typer(help="Check tasks and their results.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.add_typer(tasks_app, name="tasks")


@tasks_app.command("check")
@answers
def check(as_json: Json = False) -> None:
    """Look for contradictions in the database and the folders, and change nothing; 1 if there are any."""
    settings = load_settings()
    from core.application import check_store
    from core.bootstrap import open_workspace

    workspace = open_workspace(settings)
    try:
        found = check_store(workspace)
    finally:
        workspace.close()
    if as_json:
        print_json(asdict(found))
    else:
        show.store_check(found)
    if found.findings:
        raise typer.Exit(1)
