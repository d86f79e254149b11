"""The outer side of an agent's folder, as plain as can be: what the live tests of the jobs write and read."""

import json
import time


class Folder:
    """One job's folder on this machine.

    Parameters
    ----------
    path
        Where it lies.
    """

    def __init__(self, path):
        self.path, self._version = path, 0

    @property
    def options(self):
        """docker-py's options that mount it and name it to the job."""
        mounted = {str(self.path): {"bind": "/phasedock", "mode": "rw"}}
        return {"volumes": mounted, "environment": {"PHASEDOCK_AGENT": "/phasedock"}}

    def send_request(self, **wishes):
        """Write what is wanted, and return its version."""
        self._version += 1
        wanted = {"version": self._version, "threads": None, "checkpoint": 0, "hold": False} | wishes
        draft = self.path / "wants.tmp"
        draft.write_text(json.dumps(wanted))
        draft.replace(self.path / "wants.json")
        return self._version

    def read_report(self):
        """Return what the job says, nothing before it said anything."""
        path = self.path / "says.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def wait(self, met, seconds=150):
        """Wait until what the job says meets a condition, and return it."""
        until = time.monotonic() + seconds
        while not (now := self.read_report()) or not met(now):
            if time.monotonic() > until:
                raise AssertionError(f"The job did not get there; it says {now}.")
            time.sleep(0.02)
        return now

    def losses(self):
        """Return (step, loss) as the job wrote them."""
        path = self.path / "readings.csv"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(step), loss) for _, step, loss in (line.split(",") for line in lines)]
