"""Jobs under FlowCon that are laid before it by hand: how they begin, and what they print next."""

from core.scheduling.model import Worker
from tests.scheduling.making import Table

ALPHA = {"alpha": 0.05, "itval": 10.0}


def table(*names, capacity=1.0, **settings):
    """Jobs on one worker at their first run at 0 s, each at E = 1."""
    made = Table("flowcon", {**ALPHA, **settings}, workers=(Worker("w", capacity),))
    made.on("w", *names)
    for name in names:
        made.prints(name, 1.0)
    made.step(0.0)
    return made


def run(made, time, **changes):
    """Look again after each job has printed one E and used so many core-seconds."""
    for name, (level, cpu) in changes.items():
        made.prints(name, level, cpu=cpu)
    made.step(time)
