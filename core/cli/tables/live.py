"""Terminal output for running containers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from core.cli.output import plain
from core.units import format_bytes, format_cores, format_number, format_share, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.sampling.values import ContainerRow, LiveView, Released
    from core.workspace.records import TraceSetInfo

_HEADS = ("container", "cores", "limit", "memory", "limit", "throttled", "loss", "held")


def watch(views: Iterable[LiveView], seconds: float) -> None:
    """Samples in one table, each replacing the one before; ends after `seconds`, or with Ctrl+C."""
    until = time.monotonic() + seconds
    try:
        console = Console()
        # a file has no height that lines could be cut at
        overflow: Literal["ellipsis", "visible"] = "ellipsis" if console.is_terminal else "visible"
        with Live(console=console, auto_refresh=False, vertical_overflow=overflow) as screen:
            for view in views:
                screen.update(_table(view), refresh=True)
                if seconds and time.monotonic() >= until:
                    return
    except KeyboardInterrupt:
        return


def recorded(info: TraceSetInfo) -> None:
    """A trace set that was recorded."""
    Console(soft_wrap=True).print(
        f"[bold]{plain(info.name)}[/]: {plural(info.n_executions, 'container')}, "
        f"{plural(info.n_samples, 'sample')}. It is in the list of trace sets.",
        highlight=False,
    )


def released(done: Released) -> None:
    """The outcome of a release."""
    console = Console(soft_wrap=True)
    if not (done.restored or done.gone or done.failed):
        console.print("Nothing to restore: PhaseDock has changed no limits.")
    for name in done.restored:
        console.print(f"The limits of {plain(name)} are restored.", highlight=False)
    for name in done.gone:
        console.print(f"{plain(name)} no longer exists.", highlight=False)
    for name, why in done.failed:
        console.print(f"[bold red]{plain(name)}[/] could not be restored: {plain(why)}", highlight=False)


def _table(view: LiveView) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        title_justify="left",
        caption_justify="left",
    )
    for place, head in enumerate(_HEADS):
        table.add_column(head, justify="right" if 0 < place < len(_HEADS) - 1 else "left", no_wrap=True)
    for row in view.rows:
        table.add_row(*_cells(row))
    totals = view.totals
    of = "–" if totals.cores is None else format_cores(totals.cores)
    table.title = f"{view.engine.name}: {_number(totals.cpu)} of {of}"
    verb = "is" if view.others == 1 else "are"
    table.caption = f"{plural(view.others, 'other container')} {verb} neither labelled nor selected."
    return table


def _cells(row: ContainerRow) -> tuple[str, ...]:
    return (
        plain(row.name),
        _number(row.cpu),
        "none" if row.cpu_limit is None else _number(row.cpu_limit),
        "–" if row.memory is None else format_bytes(row.memory),
        "none" if row.memory_limit is None else format_bytes(row.memory_limit),
        "–" if row.throttled is None else format_share(row.throttled, 0),
        "–" if row.loss is None else format_number(row.loss, 4),
        "yes" if row.held else "",
    )


def _number(cores: float | None) -> str:
    """Cores without their unit, which the head or what follows says: lines are short."""
    return "–" if cores is None else format_number(cores)
