"""Parts that all commands share: options, readable errors, ``--json`` output, exit codes.

Exit codes: 0 done, 1 could not be done, 2 wrong usage or settings, 130 stopped with Ctrl+C or SIGTERM.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
import traceback
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer
from typer.core import TyperCommand
from typer.main import get_command

from core.cli import output as show
from core.config import load_settings
from core.errors import PhaseDockError, SettingsError
from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.application import Workspace
    from core.settings_fields import FieldSpec


@contextmanager
def opened_workspace() -> Iterator[Workspace]:
    """Lend the workspace of the settings; what it needs is imported only now, as that takes its time."""
    settings = load_settings()
    from core.bootstrap import open_workspace

    with closing(open_workspace(settings)) as workspace:
        yield workspace


_BOUNDED = {"int", "float", "choice"}
_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool}
_SETTINGS_KEY = "phasedock.settings"


# Options of a command made from a settings dataclass: one for each field, with its default, help and bounds.
#
# The dataclass is imported only when the command itself is run or asked for its help, because its
# module is slow to import. Only options that were given are passed on, so that the others may still come
# from a file or from the dataclass.


def taking(settings: Callable[[], type[Any]]) -> type[TyperCommand]:
    """A kind of command that also takes every setting of a dataclass as an option."""

    class SettingsCommand(TyperCommand):
        _made: list[Any] | None = None

        def get_params(self, ctx: Any) -> list[Any]:
            """The command's own options, then those of the dataclass."""
            if self._made is None:
                self._made = _options(settings())
            return [*super().get_params(ctx), *self._made]

        def invoke(self, ctx: Any) -> Any:
            """Run the command; it gets the settings through `options`."""
            values = {one.name: ctx.params.pop(one.name, None) for one in self._made or ()}
            ctx.meta[_SETTINGS_KEY] = {name: value for name, value in values.items() if value is not None}
            return super().invoke(ctx)

    return SettingsCommand


def options(context: typer.Context) -> dict[str, object]:
    """The settings on the command line, by field; fields that are not named there are absent."""
    return dict(context.meta[_SETTINGS_KEY])


def _options(cls: type[Any]) -> list[Any]:
    """The options, as typer itself would make them of a function with these parameters."""

    def command(**_values: object) -> None: ...

    parameters = [_parameter(spec) for spec in describe(cls)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(get_command(app).params)


def _parameter(spec: FieldSpec) -> inspect.Parameter:
    flag = f"--{spec.name.replace('_', '-')}"
    flags = f"{flag}/--no-{flag[2:]}" if spec.kind == "bool" else flag
    bounds = "" if spec.kind not in _BOUNDED else f" {spec.bounds[0].upper()}{spec.bounds[1:]}"
    unit = f" {spec.unit}" if spec.unit and bounds else ""
    default = f"{spec.default:g}" if spec.kind == "float" else str(spec.default)
    texts = [f"{bounds}{unit}."] if bounds else []
    texts += [f" Default: {default}."] if spec.kind in _BOUNDED else []
    option = typer.Option(flags, help=spec.help + "".join(texts))
    return inspect.Parameter(
        spec.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_TYPES.get(spec.kind, str) | None, option],
    )


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


Answers = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="COLUMN=ROLE:UNIT (cpu:millicores, memory:mib, other), COLUMN=time:UNIT, COLUMN=execution, "
        "COLUMN=attribute or COLUMN=ignore. May be repeated.",
    ),
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
    typer.echo(re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text))


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
