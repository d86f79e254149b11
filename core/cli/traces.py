"""The commands that inspect trace files."""

from __future__ import annotations

import typer

from core.cli import output as show
from core.cli.answers import File, Json, Mapping, answers, print_json


def register(app: typer.Typer) -> None:
    """Add the group ``traces`` to the ``phasedock`` command."""
    group = typer.Typer(help="Inspect trace files.", no_args_is_help=True)
    group.command("check")(traces_check)
    group.command("formats")(traces_formats)
    app.add_typer(group, name="traces")


@answers
def traces_check(file: File, mapping: Mapping = None, as_json: Json = False) -> None:
    """Read a trace file and list what was wrong with it and what was done about it."""
    from core.cli import offline_models as offline

    checked = offline.check(file, mapping)
    if as_json:
        print_json(checked.to_dict())
    else:
        show.checked(file, checked)


@answers
def traces_formats(as_json: Json = False) -> None:
    """List the kinds of files that can be read, and the layouts of columns that are recognised."""
    from core.cli import offline_models as offline

    found = offline.readable()
    if as_json:
        print_json(found)
    else:
        show.readable(found)
