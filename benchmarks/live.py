"""What watching costs: CPU of the worker and of a page's reads while containers are sampled once a second.

    PHASEDOCK_DOCKER=local=unix:///var/run/docker.sock python -m benchmarks.live IMAGE [CONTAINERS] [SECONDS]

Starts so many containers of IMAGE (with a shell; each prints a loss once a second), a real worker process
and a loop that reads what the page reads once a second. CPU is that of the processes as the kernel counts it,
after ten seconds of warming up; containers are removed at the end. Two arms: watching alone, and watching
with a FlowCon attached in control. One JSON document is printed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path

import docker

from core.config import child_environment, load_settings
from core.runtime.live.values import Mode
from core.runtime.workspace import Workspace, open_workspace

_PRINTING = "i=1; while true; do i=$((i + 1)); echo step $i loss=0.$((1000 + i % 50)); sleep 1; done"
_WARMING = 10.0


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def read_as_a_page(space: Workspace, engine: str, seconds: float) -> list[float]:
    """Read once a second what the page shows; gives how long each read took."""
    took = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        view = space.live.look(engine)
        space.live.history(engine, [row.id for row in view.rows], 600)
        space.live.totals_history(engine, 600)
        took.append(time.monotonic() - begun)
        time.sleep(max(0.0, 1.0 - took[-1]))
    return took


def measured(space: Workspace, engine: str, worker: int, seconds: float) -> dict[str, float]:
    """Shares of a core, and how regular samples were."""
    read_as_a_page(space, engine, _WARMING)
    before, own, begun = cpu_of(worker), own_cpu(), time.monotonic()
    reads = read_as_a_page(space, engine, seconds)
    passed = time.monotonic() - begun
    past = space.live.totals_history(engine, seconds)
    return {
        "worker_share_of_a_core": round((cpu_of(worker) - before) / passed, 4),
        "page_share_of_a_core": round((own_cpu() - own) / passed, 4),
        "page_read_ms_median": round(1000 * sorted(reads)[len(reads) // 2], 2),
        "samples_per_second": round(len(past.time) / seconds, 3),
        "containers": len(space.live.look(engine).rows),
        "with_loss": sum(row.loss is not None for row in space.live.look(engine).rows),
    }


def main(image: str, containers: int, seconds: float) -> dict[str, object]:
    """Measure both arms."""
    with tempfile.TemporaryDirectory() as home:
        settings = replace(
            load_settings(), home=Path(home), control=True, database_url=f"sqlite:///{home}/db"
        )
        space = open_workspace(settings)
        engine = space.live.engine_registry.names[0]
        address = space.live.engine_registry.address(engine).url
        client = docker.DockerClient(base_url=address) if address else docker.from_env()
        mark = uuid.uuid4().hex[:8]
        environment = child_environment(settings) | {
            "PHASEDOCK_CONTROL": "on",
            "DATABASE_URL": f"sqlite:///{home}/db",
        }
        made, worker = [], None
        try:
            for at in range(containers):
                labels, name = {"phasedock": "1"}, f"bench-{mark}-{at}"
                command = ["sh", "-c", _PRINTING]
                made.append(
                    client.containers.run(
                        image, command, detach=True, network_mode="none", labels=labels, name=name
                    )
                )
            worker = subprocess.Popen([sys.executable, "-m", "core.cli", "worker"], env=environment)
            watching = measured(space, engine, worker.pid, seconds)
            space.live.attach(engine, "flowcon", {"itval": 20.0}, Mode.CONTROL)
            controlling = measured(space, engine, worker.pid, seconds)
            space.live.release()
            return {"watching": watching, "controlling": controlling}
        finally:
            if worker is not None:
                worker.terminate()
                worker.wait(30)
            for each in made:
                each.remove(force=True)
            space.close()


if __name__ == "__main__":
    words = [*sys.argv[1:], *("phasedock-jobs:light", "50", "30")[len(sys.argv) - 1 :]]
    print(json.dumps(main(words[0], int(words[1]), float(words[2])), indent=1))
