"""The commands that print the phases of executions and their sequences."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli import output as show
from core.cli.answers import File, Json, Mapping, Model, answers, print_json


def register(app: typer.Typer) -> None:
    """Add the commands to the ``phasedock`` command."""
    app.command("predict")(predict)
    app.command("sequences")(sequences)


@answers
def predict(
    model: Model,
    file: File,
    minimum_dwell: Annotated[
        float, typer.Option(min=0, help="Seconds; shorter segments join a neighbour. 0: as labelled.")
    ] = 0.0,
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Print the phase of every sample, by execution: 1 is φ1, and 0 is warm-up."""
    from core.cli import offline_models as offline

    labels = offline.label(model, file, mapping, minimum_dwell, show.warning)
    if as_json:
        print_json({"executions": labels})
    else:
        show.labels(labels)


@answers
def sequences(
    model: Model,
    file: File,
    memory: Annotated[
        int, typer.Option(help="Number of previous phases that the graph remembers: 1 to 3.")
    ] = 1,
    step: Annotated[
        str, typer.Option(help="Step of the graph: run, sample (with self-loops) or window (of samples).")
    ] = "run",
    warmup: Annotated[str, typer.Option(help="skip warm-up, or own to count it as a phase.")] = "skip",
    mapping: Mapping = None,
    as_json: Json = False,
) -> None:
    """Print the sequences of phases: prototypes, transitions, and dwell times."""
    from core.cli import offline_sequences

    found = offline_sequences.sequences(model, file, memory, step, warmup, mapping, show.warning)
    if as_json:
        print_json(found.to_dict())
    else:
        show.sequences(found)
