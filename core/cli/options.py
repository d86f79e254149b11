"""The arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="Trace file; “phasedock traces formats” lists what can be read.")]
Model = Annotated[Path, typer.Argument(help="Model: a folder or a zip.")]
Out = Annotated[Path, typer.Option("--out", help="Where to save: a folder, or a file ending in .zip.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing model.")]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="JSON file that maps the columns. Default: detect the layout."),
]
