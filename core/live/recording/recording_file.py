"""A recording's file on disk, appended to from the first sample on, and the trace set made from it.

Samples are appended to one file of records of fixed size, facts about containers to another, a line for
each. A process that is killed loses at most the samples since it last appended; an incomplete record at the
end, from a kill or a full disk, is left out and overwritten by the next writer: everything is written behind
the last whole record, wherever the file ends. Which values a record has is said in a file of its own, so that
a recording of an older version can be continued and finished: what was not recorded then is not known.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from core.errors import ConflictError
from core.sampling.phases import KNOWN_ZERO, LIVE_FEATURES
from core.sampling.ring_buffer import FIELDS
from core.sampling.values import Recording
from core.traces.model import Feature, Role, TraceSet
from core.workspace.files import checked_id, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt


ABOUT = "about.json"
"""The file in a recording's folder that says what it is called and where it comes from."""


def folder_of(home: Path, recording: str) -> Path:
    """Where a recording is until it is a trace set."""
    return home / "live" / "recordings" / checked_id(recording, "recording")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A recording that is on the disk and not a trace set yet."""

    #: The id of its folder.
    recording: str
    #: ``engine``, ``name`` and ``model``.
    about: dict[str, Any]
    #: What there is of it.
    shown: Recording


def unfinished(home: Path) -> tuple[Unfinished, ...]:
    """Every recording that is on the disk, running ones included."""
    found = []
    for path in sorted((home / "live" / "recordings").glob(f"*/{ABOUT}")):
        try:
            about, tape = orjson.loads(path.read_bytes()), RecordingFile(path.parent, writing=False)
        except (OSError, orjson.JSONDecodeError):
            continue
        shown = Recording(
            "", str(about["name"]), path.stat().st_mtime, tape.samples, len(tape.known), tape.size
        )
        found.append(Unfinished(path.parent.name, about, replaced(shown, recording=path.parent.name)))
    return tuple(found)


OLDER_FIELDS = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled", "io", "network")
"""What was recorded before recordings said it."""


def _record(fields: Sequence[str]) -> np.dtype[Any]:
    return np.dtype(
        [("container", "<i4"), ("phase", "<i4"), ("at", "<f8"), ("values", "<f4", (len(fields),))]
    )


SAMPLE = _record(FIELDS)
PHASE = Feature("phase", Role.PHASE)
PERIOD = 1.0
_GAP = 2.5


@dataclass(frozen=True, slots=True)
class Recorded:
    """One container of a recording: its id, and facts that become attributes."""

    id: str
    name: str
    image: str = ""


class RecordingFile:
    """The files of one recording; one process writes at a time."""

    def __init__(self, folder: Path, *, writing: bool = True) -> None:
        self._samples = folder / "samples.bin"
        self._containers = folder / "containers.jsonl"
        self._names, self._upgraded = folder / "fields.json", folder / "samples.upgraded"
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self._samples, self._containers):
            path.touch()
        self._fields = self._recorded_fields()
        if writing:
            self._upgrade()
            self._cut()
        self.known: dict[str, int] = {each.id: at for at, each in enumerate(self.containers())}

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return self._samples.stat().st_size // _record(self._fields).itemsize

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._samples.stat().st_size + self._containers.stat().st_size

    @property
    def last(self) -> float:
        """When the newest sample was taken, seconds since 1970; minus infinity where there is none."""
        times = self._read()["at"]
        return float(times.max()) if len(times) else -np.inf

    def meet(self, containers: Iterable[Recorded]) -> None:
        """Note containers that are new."""
        new = [each for each in containers if each.id not in self.known]
        if not new:
            return
        lines = b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in new)
        _append(self._containers, lines, _lines(self._containers.read_bytes()))
        for each in new:
            self.known[each.id] = len(self.known)

    def add(self, at: float, rows: Mapping[str, Sequence[float]], phases: Mapping[str, int]) -> None:
        """Append one sample of each of some containers that were met before, of a ring's rows."""
        samples = np.zeros(len(rows), SAMPLE)
        samples["container"] = [self.known[name] for name in rows]
        samples["phase"] = [phases.get(name, -1) for name in rows]
        samples["at"] = at
        samples["values"] = [row[: len(FIELDS)] for row in rows.values()]
        _append(self._samples, samples.tobytes(), self.samples * SAMPLE.itemsize)

    def containers(self) -> list[Recorded]:
        """The containers that were met, in that order."""
        text = self._containers.read_bytes()
        return [Recorded(**orjson.loads(line)) for line in text[: _lines(text)].splitlines()]

    def traces(self, phased: bool) -> TraceSet:
        """The trace set made of the samples, with a column of phases if that is wanted.

        Raises
        ------
        ConflictError
            If there is no sample.
        """
        samples, containers = self._read(), self.containers()
        samples = samples[_known(samples, len(containers))]
        if not len(samples):
            raise ConflictError(
                "Nothing was recorded: no chosen container ran for two samples.",
                "Start containers with the label phasedock, or select some, and record again.",
            )
        samples = samples[np.lexsort((samples["at"], samples["container"]))]
        there, counts = np.unique(samples["container"], return_counts=True)
        features, columns = _columns(samples, phased)
        new = np.diff(samples["container"], prepend=-1) != 0
        gaps = np.diff(samples["at"], prepend=-np.inf) > _GAP * PERIOD
        chosen = [containers[at] for at in there.tolist()]
        return TraceSet(
            features=features,
            columns=columns,
            time=samples["at"].astype(np.float64),
            ids=_names(chosen),
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            period=PERIOD,
            breaks=np.flatnonzero(gaps & ~new).astype(np.int64),
            attributes={"container": [each.id for each in chosen], "image": [each.image for each in chosen]},
        )

    def _recorded_fields(self) -> tuple[str, ...]:
        """What the records have; while an upgrade has not taken their place, they are the older ones."""
        if self._upgraded.exists():
            return OLDER_FIELDS
        try:
            return tuple(orjson.loads(self._names.read_bytes()))
        except (OSError, orjson.JSONDecodeError):
            return OLDER_FIELDS if self._samples.stat().st_size else FIELDS

    def _upgrade(self) -> None:
        """Make the records of an older version those of this one, so that more can be appended.

        The upgraded records take the place of the older ones last and at once, so that after a kill in
        between all is as before.
        """
        if self._fields != FIELDS:
            write_atomically(self._upgraded, self._read().tobytes())
        if not self._names.exists():
            write_atomically(self._names, orjson.dumps(FIELDS))
        if self._fields != FIELDS:
            self._upgraded.replace(self._samples)
        self._fields = FIELDS

    def _read(self) -> npt.NDArray[Any]:
        """All whole records, as this version has them."""
        fields = self._fields
        kept = _record(fields)
        records = np.fromfile(self._samples, kept, self._samples.stat().st_size // kept.itemsize)
        if fields == FIELDS:
            return records
        whole = np.zeros(len(records), SAMPLE)
        for name in ("container", "phase", "at"):
            whole[name] = records[name]
        for place, name in enumerate(FIELDS):
            there = name in fields
            whole["values"][:, place] = records["values"][:, fields.index(name)] if there else np.nan
        return whole

    def _cut(self) -> None:
        """Remove what a killed process wrote in part, and samples of containers that were lost with it."""
        os.truncate(self._containers, _lines(self._containers.read_bytes()))
        samples = self._read()
        known = _known(samples, len(self.containers()))
        if not known.all():
            write_atomically(self._samples, samples[known].tobytes())
        os.truncate(self._samples, self.samples * SAMPLE.itemsize)


def _columns(
    samples: npt.NDArray[Any], phased: bool
) -> tuple[tuple[Feature, ...], tuple[npt.NDArray[np.float64], ...]]:
    """The features of which anything is known, and their values."""
    kept: list[tuple[Feature, npt.NDArray[np.float64]]] = []
    for at, (feature, field) in enumerate(zip(LIVE_FEATURES, FIELDS, strict=True)):
        values = samples["values"][:, at].astype(np.float64)
        if field in KNOWN_ZERO:
            values = np.nan_to_num(values, nan=0.0)
        if np.isfinite(values).any():
            kept.append((feature, values))
    if phased:
        kept.append((PHASE, samples["phase"].astype(np.float64)))
    return tuple(feature for feature, _ in kept), tuple(values for _, values in kept)


def _names(containers: Sequence[Recorded]) -> tuple[str, ...]:
    """A name for each; containers of one name, one after the other, get their ids added."""
    names = [each.name for each in containers]
    return tuple(
        each.name if names.count(each.name) == 1 else f"{each.name} {each.id[:12]}" for each in containers
    )


def _known(samples: npt.NDArray[Any], containers: int) -> npt.NDArray[np.bool_]:
    """Which samples are of containers that exist."""
    return np.asarray((samples["container"] >= 0) & (samples["container"] < containers))


def _lines(text: bytes) -> int:
    """Bytes of the whole lines at the beginning."""
    return text.rfind(b"\n") + 1


def _append(path: Path, data: bytes, place: int) -> None:
    """Write all of it behind the first `place` bytes, or leave only these."""
    handle = os.open(path, os.O_WRONLY)
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(handle, data[written:], place + written)
    except BaseException:
        os.ftruncate(handle, place)
        raise
    finally:
        os.close(handle)
