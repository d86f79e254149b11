"""The arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="Trace file; “phasedock traces formats” lists what can be read.")]
Model = Annotated[Path, typer.Argument(help="Model: a folder or a zip.")]
Out = Annotated[Path, typer.Option("--out", help="Where to save: a folder, or a file ending in .zip.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="JSON file that says what the columns are; recognised when left out."),
]
