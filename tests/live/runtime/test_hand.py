"""Limits by hand on real containers: undo, release, picking; and what nobody told PhaseDock to touch."""

import pytest
from sqlalchemy import update

from core.bootstrap import open_workspace, worker_for
from core.config import Settings
from core.engines.docker_host.apply_limits import UNSET_VALUES
from core.errors import ConflictError, InputError, RefusedError
from core.sampling.values import ContainerAllowance, Mode
from core.workspace.database_schema import SavedLimitsRow
from tests.live.limits import docker_limits, kernel_memory, kernel_quota
from tests.live.waiting import ended, until
from tests.live.workloads import FALLING

pytestmark = pytest.mark.live


@pytest.fixture
def sleeper(start_job, light_image):
    return start_job(
        light_image, ["sleep", "300"], labels={"phasedock": "x"}, nano_cpus=1_250_000_000, mem_limit="300m"
    )


def test_a_limit_by_hand_is_undone_step_by_step(space, sleeper):
    before, kernel = docker_limits(sleeper), kernel_quota(sleeper)
    change = space.live.limits.set_limit("local", sleeper.id, 0.5)
    assert change.container == sleeper.name
    assert (change.before, change.after) == (
        ContainerAllowance(1.25, 300 * 2**20),
        ContainerAllowance(0.5, 300 * 2**20),
    )
    assert kernel_quota(sleeper)[0] / kernel_quota(sleeper)[1] == 0.5
    space.live.limits.set_limit("local", sleeper.id, 0.25, 200 * 2**20)
    assert docker_limits(sleeper)["Memory"] == 200 * 2**20
    back = space.live.limits.undo("local", sleeper.id)
    assert back.after == ContainerAllowance(0.5, 300 * 2**20)
    first = space.live.limits.last_undo("local", sleeper.id)
    assert first is not None
    assert first.allowance == ContainerAllowance(1.25, 300 * 2**20)
    same = space.live.limits.set_limit("local", sleeper.id, 0.5)
    assert same.before == same.after, "the same limits are not a change that Undo could take back"
    space.live.limits.undo("local", sleeper.id)
    with pytest.raises(ConflictError, match="nothing to undo"):
        space.live.limits.undo("local", sleeper.id)
    assert (docker_limits(sleeper), kernel_quota(sleeper)) == (before, kernel)
    assert space.live.saved_limits.all() == ()


def test_undoing_the_only_change_leaves_no_trace(space, sleeper):
    before, kernel = docker_limits(sleeper), kernel_quota(sleeper)
    space.live.limits.set_limit("local", sleeper.id, None)
    space.live.limits.undo("local", sleeper.id)
    assert (docker_limits(sleeper), kernel_quota(sleeper)) == (before, kernel)
    assert space.live.saved_limits.all() == ()


CPU = {
    "none": {},
    "cpus": {"nano_cpus": 1_250_000_000},
    "quota": {"cpu_quota": 80_000},
    "quota and period": {"cpu_quota": 33_000, "cpu_period": 50_000},
    "shares": {"cpu_shares": 700},
}
MEMORY = {
    "none": {},
    "memory": {"mem_limit": "300m"},
    "memory and swap": {"mem_limit": "300m", "memswap_limit": "500m"},
    "any swap": {"mem_limit": "300m", "memswap_limit": -1},
}
MADE = [(cpu, "none") for cpu in CPU] + [(cpu, "memory") for cpu in CPU] + [("none", each) for each in MEMORY]


@pytest.mark.parametrize(("cpu", "memory"), dict.fromkeys(MADE))
def test_what_was_set_comes_back_digit_by_digit_and_what_was_not_means_the_same(
    space, start_job, light_image, cpu, memory
):
    job = start_job(light_image, ["sleep", "300"], labels={"phasedock": "x"}, **CPU[cpu], **MEMORY[memory])
    before, kernel, bytes_before = docker_limits(job), kernel_quota(job), kernel_memory(job)
    space.live.limits.set_limit("local", job.id, 0.5)
    assert docker_limits(job)["Memory"] == before["Memory"]
    space.live.limits.undo("local", job.id)
    sent = {} if cpu == "cpus" else {"CpuQuota"}
    assert docker_limits(job) == written_after(before, sent)
    space.live.limits.set_limit("local", job.id, 0.5, 200 * 2**20)
    assert kernel_memory(job)[0] == 200 * 2**20
    space.live.limits.set_limit("local", job.id, 0.25, 100 * 2**20)
    space.live.limits.release("local")
    assert docker_limits(job) == written_after(before, {*sent, "Memory", "MemorySwap"})
    assert (kernel_quota(job), kernel_memory(job)) == (kernel, bytes_before)
    assert space.live.saved_limits.all() == ()


def written_after(before, sent):
    """What Docker has once limits were given and taken away: only a 0 that had to be sent differs."""
    return {
        name: UNSET_VALUES[name] if name in sent and not value else value for name, value in before.items()
    }


@pytest.fixture
def opened(tmp_path):
    """Opens the same workspace with other names for engines."""
    spaces = []

    def open_with(names):
        spaces.append(open_workspace(Settings(home=tmp_path / "named", docker=names, control=True)))
        return spaces[-1]

    yield open_with
    for space in spaces:
        space.close()


def test_any_name_of_an_engine_gives_back_what_was_changed_under_another(opened, docker_url, sleeper):
    before, kernel = docker_limits(sleeper), kernel_quota(sleeper)
    opened(f"first={docker_url}").live.limits.set_limit("first", sleeper.id, 0.5)
    two = opened(f"second={docker_url};third={docker_url}").live
    assert two.limits.set_limit("third", sleeper.id, 0.25).before.cores == 0.5
    assert two.limits.undo("second", sleeper.id).after.cores == 0.5
    assert two.limits.release("second").restored == (sleeper.name,)
    assert (docker_limits(sleeper), kernel_quota(sleeper)) == (before, kernel)
    assert two.saved_limits.all() == ()


def test_what_an_earlier_version_wrote_is_given_back_under_a_new_name(opened, docker_url, sleeper):
    before, kernel = docker_limits(sleeper), kernel_quota(sleeper)
    first = opened(f"first={docker_url}")
    first.live.limits.set_limit("first", sleeper.id, 0.5)
    with first.database.write() as session:  # as it was when only the name was known
        session.execute(update(SavedLimitsRow).values(engine="first", engine_name=None))
    second = opened(f"second={docker_url}").live
    second.limits.set_limit("second", sleeper.id, 0.25)
    assert second.limits.release("second").restored == (sleeper.name,)
    assert (docker_limits(sleeper), kernel_quota(sleeper)) == (before, kernel)
    assert second.saved_limits.all() == ()


def test_a_container_that_nobody_named_is_refused_until_it_is_picked(space, start_job, light_image):
    foreign = start_job(light_image, ["sleep", "300"], cpu_quota=80_000, cpu_period=100_000)
    before, kernel = docker_limits(foreign), kernel_quota(foreign)
    with pytest.raises(RefusedError):
        space.live.limits.set_limit("local", foreign.id, 0.5)
    assert (docker_limits(foreign), kernel_quota(foreign)) == (before, kernel)
    assert space.live.saved_limits.all() == ()
    space.live.limits.pick("local", foreign.id)
    space.live.limits.set_limit("local", foreign.id, 0.5)
    assert kernel_quota(foreign)[0] == 50_000
    space.live.limits.unpick("local", foreign.id)
    assert (docker_limits(foreign), kernel_quota(foreign)) == (before, kernel)
    with pytest.raises(RefusedError):
        space.live.limits.set_limit("local", foreign.id, 0.5)


def test_limits_that_cannot_be_are_refused_in_words(space, sleeper):
    before = docker_limits(sleeper)
    for cores, memory in ((0.0, None), (-1.0, None), (1e6, None), (0.5, 1024.0), (0.5, 2.0**60)):
        with pytest.raises(InputError):
            space.live.limits.set_limit("local", sleeper.id, cores, memory)
    assert docker_limits(sleeper) == before


def test_a_container_that_is_gone_is_said_to_be_gone(space, sleeper):
    space.live.limits.set_limit("local", sleeper.id, 0.5)
    sleeper.remove(force=True)
    done = space.live.limits.release()
    assert len(done.gone) == 1
    assert done.failed == ()
    assert space.live.saved_limits.all() == ()


def test_release_ends_a_policy_first_and_goes_back_to_before_the_hand(space, start_job, light_image):
    job = start_job(
        light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}, nano_cpus=1_900_000_000
    )
    before, kernel = docker_limits(job), kernel_quota(job)
    worker = worker_for(space)
    worker.start()
    try:
        space.live.limits.set_limit("local", job.id, 1.5)
        by_hand = kernel_quota(job)
        first = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL, may_raise=True)
        until(lambda: kernel_quota(job) != by_hand)
        for change in (
            lambda: space.live.limits.set_limit("local", job.id, 0.3),
            lambda: space.live.limits.restart("local", job.id),
        ):
            with pytest.raises(ConflictError, match="controls this engine"):
                change()
        space.live.policies.detach("local")
        ended(space, first)
        assert kernel_quota(job) == by_hand
        second = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL, may_raise=True)
        until(lambda: kernel_quota(job) != by_hand)
        space.live.limits.release("local")
        assert space.tasks.get(second).state.ended
        assert (docker_limits(job), kernel_quota(job)) == (before, kernel)
    finally:
        worker.stop(20)


def test_nothing_is_changed_where_control_is_off(tmp_path, docker_url, sleeper):
    space = open_workspace(Settings(home=tmp_path / "other", docker=f"local={docker_url}"))
    try:
        for change in (
            lambda: space.live.limits.set_limit("local", sleeper.id, 0.5),
            lambda: space.live.limits.undo("local", sleeper.id),
            lambda: space.live.limits.pick("local", sleeper.id),
            lambda: space.live.limits.unpick("local", sleeper.id),
            lambda: space.live.policies.attach("local", "flowcon", {}, Mode.CONTROL),
        ):
            with pytest.raises(ConflictError, match="PHASEDOCK_CONTROL"):
                change()
    finally:
        space.close()
