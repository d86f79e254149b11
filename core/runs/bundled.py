"""The experiments that come with PhaseDock: the thesis' own, as YAML files that can be copied and changed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import InputError, NotFoundError
from core.experiments.spec_reader import read_experiment
from core.experiments.spec_values import LARGEST
from core.workspace.samples import DATA

if TYPE_CHECKING:
    from core.experiments.spec import Experiment

_FOLDER = DATA / "experiments"
_SUFFIX = ".yaml"
_LARGEST_TABLE = 20_000_000


def names() -> tuple[str, ...]:
    """Return their names, smaller ones of a kind first."""
    stems = [path.stem for path in _FOLDER.glob(f"*{_SUFFIX}")]
    return tuple(sorted(stems, key=_order))


def text(name: str) -> str:
    """Return the text of one of them."""
    if name not in names():
        raise NotFoundError(
            f"There is no bundled experiment called “{name}”.", f"There are: {', '.join(names())}."
        )
    return (_FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def load(source: str) -> Experiment:
    """Return an experiment by the name of a bundled one, or from a YAML or JSON file."""
    if source in names():
        return read_experiment(text(source))
    path = Path(source)
    try:
        with path.open(encoding="utf-8") as file:
            written = file.read(LARGEST + 1)
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text.", "Save it as UTF-8.") from None
    except OSError:
        raise NotFoundError(
            f"There is neither a file nor a bundled experiment called “{source}”.",
            f"Bundled experiments: {', '.join(names())}.",
        ) from None
    try:
        return read_experiment(written, partial(_read_table, path.parent))
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", error.hint) from None


def _read_table(folder: Path, name: str) -> str:
    """Return the text of a table beside an experiment's file."""
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            written = file.read(_LARGEST_TABLE + 1)
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text.", "Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{error.strerror}.", "Give its path as seen from the experiment’s file.") from None
    if len(written) > _LARGEST_TABLE:
        raise InputError(f"it has more than {_LARGEST_TABLE:,} characters.", "Give a part of it.")
    return written


def _order(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Simulated ones first; numbers in names by their size."""
    parts = [(int(part), "") if part.isdecimal() else (0, part) for part in name.split("-")]
    return name.startswith("docker-"), parts
