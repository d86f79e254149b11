"""The ``phasedock`` command.

Every subcommand has ``--json``: then exactly one JSON document goes to standard output, the result or
``{"error": {"message", "hint"}}``, and nothing else. Exit codes: 0 done, 1 could not be done, 2 wrong
usage or settings, 130 stopped with Ctrl+C. What is heavy is imported only where it is used, so that
``phasedock --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys

import typer

from core.cli import live, live_queue, models, provisioning, runs, serving

app = typer.Typer(
    help="Shows the phases that training containers go through, and what each of them needs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _register in (
    models.register_traces,
    models.register,
    runs.register,
    live.register,
    live_queue.register,
    serving.register_tasks,
    serving.register,
    models.register_phases,
    provisioning.register,
):
    _register(app)


def main() -> None:
    """Run the command; the entry point of the package."""
    # on SIGTERM a command ends as on Ctrl+C: what it changed is restored and what it started is removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
