"""Demo hosts for tests: a clock that passes when somebody sleeps, jobs of one core, hosts of one folder."""

from core.engines.demo.host import ENGINE_ID, DemoHost
from core.engines.demo.kind import DemoAddress
from core.engines.demo.world import DemoWorld
from core.engines.run import MemoryKeeper, Node, RunEngine, shared_state
from core.engines.values import EngineKey, FollowOptions, has_label
from core.simulation.replay import Recording, ReplayPlan, StartingPlace

KEY = EngineKey("demo", ENGINE_ID)


class RunClock(shared_state.RunClock):
    """The clock of a run in which time passes when the engine waits."""

    def __init__(self, clock, elapsed):
        self._clock, self._zero = clock, clock() - elapsed

    def now(self):
        return self._clock() - self._zero

    def at(self, unix):
        return unix - self._zero

    def wait(self, news, seconds):
        self._clock.sleep(max(seconds, 1e-3))
        return news.get_nowait()


class Clock:
    """Seconds that pass when somebody sleeps."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def flat(name, seconds=30.0, steps=20, memory=100e6):
    """A job of one core that prints a falling loss at each of its steps."""
    losses = tuple(2.0 / (1 + step) for step in range(steps))
    return Recording(name, seconds / steps, (1.0,) * steps, (memory,) * steps, losses, (1000.0,) * steps)


def plan_of(*jobs, cores=2.0, **place):
    """A host on which each job has a place."""
    places = tuple(StartingPlace(**{"first": float(at) / 1000, **place}) for at in range(len(jobs)))
    return ReplayPlan(cores, 1e9, jobs, places, 5.0)


class Demo:
    """Demo hosts of one workspace, each as another process has it."""

    def __init__(self, folder, plan, clock=None, before=0.0):
        self.folder, self.plan, self.clock, self.before = folder, plan, clock or Clock(), before
        self.keeper = MemoryKeeper()

    def world(self):
        return DemoWorld(self.folder, lambda: self.plan, self.clock, self.before)

    def host(self, keeper=None, guard=has_label):
        return DemoHost(DemoAddress(self.folder), self.world(), keeper or self.keeper, guard)

    def engine(self, adopt=has_label, *, may_raise=False, **more):
        options = FollowOptions(may_raise=may_raise, logs_every=0.0)
        return RunEngine(
            [Node("demo", self.host())],
            folder=self.folder,
            adopt=adopt,
            options=options,
            clock=lambda elapsed: RunClock(self.clock, elapsed),
            **more,
        )


def job_of(host, name):
    return next(each for each in host.containers() if each.name.startswith(name))
