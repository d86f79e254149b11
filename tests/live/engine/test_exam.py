"""The Docker engine sits the exam of every engine, with real containers."""

from contextlib import ExitStack

import pytest

from core.engines.docker_host import Address, Host
from core.engines.run import Node, RunEngine
from tests.contracts.engine_exam import EngineExam
from tests.live.engines import planned

pytestmark = pytest.mark.live
SCALE = 0.4
"""Core-seconds of a job for each that the exam says: it says about, and real time is dear."""


@pytest.fixture(scope="module")
def shared_host(docker_url):
    """One host for all tests: opening it costs more than most of them."""
    with Host(Address("local", docker_url)) as host:
        yield host


class TestDockerEngine(EngineExam):
    """Real time, so things are late by what starting a container and a busy machine cost."""

    slack = 1.0

    @pytest.fixture(autouse=True)
    def _world(self, light_image, shared_host, tmp_path):
        with ExitStack() as stack:
            self.image, self.host, self.folder, self.stack = light_image, shared_host, tmp_path, stack
            yield

    def engine(self, *jobs, workers=2):
        cores = int(self.host.info().cores)
        plans = [
            planned(
                self.image,
                job.id,
                job.seconds * SCALE,
                arrival=job.arrival,
                can_migrate=job.can_migrate,
                can_resize=job.can_resize,
            )
            for job in jobs
        ]
        nodes = [Node(f"worker-{n}", self.host, (n % cores,)) for n in range(workers)]
        engine = RunEngine(nodes, plans, folder=self.folder)
        self.stack.callback(engine.close)
        return engine
