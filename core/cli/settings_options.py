"""Options of a command made from a settings dataclass: one for each field, with its default, help and bounds.

The dataclass is imported only when the command itself is run or asked for its help, because its
module is slow to import. Only options that were given are passed on, so that the others may still come
from a file or from the dataclass.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from core.settings_fields import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.settings_fields import FieldSpec

_BOUNDED = {"int", "float", "choice"}
_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool}
_GIVEN = "phasedock.settings"


def taking(settings: Callable[[], type[Any]]) -> type[TyperCommand]:
    """A kind of command that also takes every setting of a dataclass as an option.

    Parameters
    ----------
    settings
        Gives the dataclass; called only when the options are needed.
    """

    class SettingsCommand(TyperCommand):
        _made: list[Any] | None = None

        def get_params(self, ctx: Any) -> list[Any]:
            """The command's own options, then those of the dataclass."""
            if self._made is None:
                self._made = _options(settings())
            return [*super().get_params(ctx), *self._made]

        def invoke(self, ctx: Any) -> Any:
            """Run the command; it gets the settings through `given`."""
            values = {one.name: ctx.params.pop(one.name, None) for one in self._made or ()}
            ctx.meta[_GIVEN] = {name: value for name, value in values.items() if value is not None}
            return super().invoke(ctx)

    return SettingsCommand


def given(context: typer.Context) -> dict[str, object]:
    """The settings that were given on the command line, by field."""
    return dict(context.meta[_GIVEN])


def _options(cls: type[Any]) -> list[Any]:
    """The options, as typer itself would make them of a function with these parameters."""

    def command(**_values: object) -> None: ...

    made = [_parameter(spec) for spec in describe(cls)]
    command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in made}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(get_command(app).params)


def _parameter(spec: FieldSpec) -> inspect.Parameter:
    flag = f"--{spec.name.replace('_', '-')}"
    flags = f"{flag}/--no-{flag[2:]}" if spec.kind == "bool" else flag
    bounds = "" if spec.kind not in _BOUNDED else f" {spec.bounds[0].upper()}{spec.bounds[1:]}"
    unit = f" {spec.unit}" if spec.unit and bounds else ""
    default = f"{spec.default:g}" if spec.kind == "float" else str(spec.default)
    said = [f"{bounds}{unit}."] if bounds else []
    said += [f" Default: {default}."] if spec.kind in _BOUNDED else []
    option = typer.Option(flags, help=spec.help + "".join(said))
    return inspect.Parameter(
        spec.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_TYPES.get(spec.kind, str) | None, option],
    )
