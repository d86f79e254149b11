"""What a person says of a job: a form on the screen and options on the command line are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from core.jobs.catalogue import CATALOGUE
from core.scheduling.model import HIGHEST_PRIORITY
from core.settings_fields import setting

OWN: Final = "own"
"""The choice of an image instead of a bundled program."""

PROGRAMS: Final = {OWN: "None: an image of my own"} | {
    name: f"{name} ({entry.image}): {entry.learns}" for name, entry in CATALOGUE.items()
}


@dataclass(frozen=True)
class JobSettings:
    """A job as it is typed into a form; `core.runtime.live.queue.spec.read_job` makes a job of it."""

    program: str = setting(
        OWN,
        label="Bundled program",
        choices=PROGRAMS,
        help="One of PhaseDock’s training programs, in its image phasedock-jobs.",
    )
    image: str = setting(
        "", label="Image", help="An image that the engine has already. Empty with a bundled program."
    )
    command: str = setting(
        "",
        label="Command",
        help="Empty: the image’s own. With a bundled program: its options, such as --steps 500.",
    )
    name: str = setting(
        "", label="Name", help="Letters, digits, dots, dashes. Empty: after the program or the image."
    )
    request: float = setting(
        1.0, label="Cores requested", low=0.01, high=4096, unit="cores", help="What it should get."
    )
    min: float = setting(
        0.0, label="At least", low=0.0, high=4096, unit="cores", help="Fewest that it can run with; 0: any."
    )
    max: float = setting(
        0.0, label="At most", low=0.0, high=4096, unit="cores", help="Most that it can use; 0: no bound."
    )
    memory: float = setting(
        0.0, label="Memory", low=0.0, high=1e6, unit="GiB", help="More, and it is ended; 0: no limit."
    )
    priority: int = setting(
        0, label="Priority", low=0, high=HIGHEST_PRIORITY, help="From 0 to 9; the higher, the sooner."
    )
    deadline: str = setting(
        "",
        label="Deadline",
        help="When it has to be done: 2 h, 18:00, 6 pm, tomorrow 9:00, 2026-12-24 18:00. Empty: none.",
    )
    environment: str = setting(
        "", label="Environment", help="Variables with spaces between them, such as SEED=1 MODE=fast."
    )
    follows: bool = setting(
        False,
        label="Its threads follow its cores",
        help="The program uses PhaseDock’s agent. Bundled programs always do.",
    )
    data: str = setting(
        "",
        label="Data",
        help="What it trains on, in a word, where the command does not say: other data, other speed.",
    )
    volumes: str = setting(
        "", label="Volumes", help="Such as /srv/data:/data:ro; only below PHASEDOCK_ALLOWED_VOLUMES."
    )
    ports: str = setting(
        "", label="Ports", help="Of the host and inside, such as 6006:6006; only PHASEDOCK_ALLOWED_PORTS."
    )
