"""What commands have in common: options, readable errors, ``--json`` output, exit codes.

Exit codes: 0 done, 1 could not be done, 2 wrong usage or settings, 130 stopped with Ctrl+C or SIGTERM.
"""

from __future__ import annotations

import json
import re
import tempfile
import traceback
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from core.cli import output as show
from core.errors import PhaseDockError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")]
File = Annotated[
    Path, typer.Argument(help="Trace file, or folder of files to join; see “phasedock traces formats”.")
]
Model = Annotated[Path, typer.Argument(help="Model: a folder or a zip.")]
Out = Annotated[Path, typer.Option("--out", help="Where to save: a folder, or a file ending in .zip.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing model.")]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="JSON file that maps the columns. Default: detect the layout."),
]


def answers(command: Callable[P, None]) -> Callable[P, None]:
    """Report errors in sentences, as text or as JSON, and exit with the right code."""

    @wraps(command)
    def answering(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            command(*args, **kwargs)
        except SettingsError as error:
            raise _failed(error.message, error.hint, as_json, code=2) from None
        except PhaseDockError as error:
            raise _failed(error.message, error.hint, as_json) from None
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception:  # noqa: BLE001 - a person gets a sentence, the file has the rest
            message, hint = _unexpected()
            raise _failed(message, hint, as_json) from None

    return answering


def print_json(value: Any) -> None:
    """Print the one JSON document of a command."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # JSON escapes the control characters of ASCII itself; terminals obey those of C1 as well
    typer.echo(re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))


def _failed(message: str, hint: str, as_json: bool, code: int = 1) -> typer.Exit:
    if as_json:
        print_json({"error": {"message": message, "hint": hint}})
    else:
        show.error(message, hint)
    return typer.Exit(code)


def _unexpected() -> tuple[str, str]:
    with tempfile.NamedTemporaryFile("w", prefix="phasedock-", suffix=".log", delete=False) as file:
        traceback.print_exc(file=file)
    return "Something went wrong inside PhaseDock.", f"Report it with the details in {file.name}."
