"""The inside half of the agent: wishes are applied at step boundaries, and nothing is said twice."""

import json
import threading
import time

import pytest

from core.jobs.agent import Agent, Stopped
from core.jobs.files import write_atomically


class Threads:
    """Remembers the threads that were set, as a library does."""

    def __init__(self):
        self.now = 4

    def __call__(self, wanted):
        self.now = self.now if wanted is None else wanted
        return self.now


class Saved:
    """Counts checkpoints."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


def write_wants(folder, version, **more):
    text = json.dumps({"version": version, "threads": None, "checkpoint": 0, "hold": False} | more)
    write_atomically(folder / "wants.json", lambda file: file.write(text.encode()))


def says(folder):
    return json.loads((folder / "says.json").read_text())


def wait_for(met):
    until = time.monotonic() + 10
    while not met():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def threads():
    return Threads()


@pytest.fixture
def save():
    return Saved()


@pytest.fixture
def agent(tmp_path, threads, save):
    agent = Agent(tmp_path, threads)
    agent.begin(0, 10, save)
    return agent


def test_a_job_says_how_it_stands(agent, tmp_path, save):
    assert says(tmp_path)["state"] == "running"
    time.sleep(0.12)
    agent.reached(1, 2.5, save)
    now = says(tmp_path)
    assert (now["step"], now["steps"], now["loss"], now["checkpoint_step"]) == (1, 10, 2.5, 0)
    assert 0.1 < now["seconds_per_step"] < 1
    agent.finish()
    assert says(tmp_path)["state"] == "done"


def test_threads_are_applied_and_acknowledged_at_the_next_step(agent, tmp_path, threads, save):
    write_wants(tmp_path, 1, threads=1)
    agent.reached(1, 1.0, save)
    assert threads.now == 1
    assert (says(tmp_path)["version"], says(tmp_path)["threads"]) == (1, 1)
    write_wants(tmp_path, 2, threads=3)
    agent.reached(2, 1.0, save)
    assert (says(tmp_path)["version"], says(tmp_path)["threads"]) == (2, 3)


def test_threads_that_change_from_outside_are_said_within_seconds(agent, tmp_path, threads, save):
    threads.now = 2
    until, step = time.monotonic() + 5, 0
    while says(tmp_path)["threads"] != 2:
        assert time.monotonic() < until
        step += 1
        agent.reached(step, 1.0, save)
        time.sleep(0.05)


def test_threads_are_acknowledged_while_the_data_are_prepared(tmp_path, threads):
    agent = Agent(tmp_path, threads)
    agent.prepare(0, 10)
    assert says(tmp_path)["state"] == "preparing"
    write_wants(tmp_path, 1, threads=2)
    agent.listen()
    assert (says(tmp_path)["version"], says(tmp_path)["threads"]) == (1, 2)


def test_a_program_with_static_threads_says_so(tmp_path, save):
    agent = Agent(tmp_path, lambda _: 4)
    write_wants(tmp_path, 1, threads=1)
    agent.begin(0, 10, save)
    assert (says(tmp_path)["version"], says(tmp_path)["threads"]) == (1, 4)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": "2"}', '{"version": true, "threads": 2}', "\x00"]
)
def test_wishes_that_cannot_be_read_change_nothing(agent, tmp_path, save, threads, text):
    write_wants(tmp_path, 1, threads=2)
    agent.reached(1, 1.0, save)
    (tmp_path / "wants.json").write_text(text)
    agent.reached(2, 1.0, save)
    assert (threads.now, says(tmp_path)["version"], save.count) == (2, 1, 0)


def test_a_checkpoint_is_written_once_per_request(agent, tmp_path, save):
    agent.reached(1, 1.0, save)
    assert save.count == 0
    write_wants(tmp_path, 1, checkpoint=1)
    agent.reached(2, 1.0, save)
    agent.reached(3, 1.0, save)
    assert save.count == 1
    assert (says(tmp_path)["checkpoint"], says(tmp_path)["checkpoint_step"]) == (1, 2)


def test_a_checkpoint_that_cannot_be_written_is_not_acknowledged(agent, tmp_path):
    def full():
        raise OSError("No space left on device")

    write_wants(tmp_path, 1, checkpoint=1)
    agent.reached(1, 1.0, full)
    assert (says(tmp_path)["checkpoint"], says(tmp_path)["version"]) == (0, 1)
    saved = Saved()
    agent.reached(2, 1.0, saved)
    assert (says(tmp_path)["checkpoint"], says(tmp_path)["checkpoint_step"], saved.count) == (1, 2, 1)


def test_a_held_job_stands_still_until_it_is_let_go(agent, tmp_path, save):
    write_wants(tmp_path, 1, checkpoint=1, hold=True)
    working = threading.Thread(target=agent.reached, args=(1, 1.0, save))
    working.start()
    wait_for(lambda: says(tmp_path)["checkpoint"] == 1)
    wait_for(lambda: says(tmp_path)["state"] == "held")
    assert working.is_alive()
    write_wants(tmp_path, 2, checkpoint=2, hold=True)
    wait_for(lambda: says(tmp_path)["checkpoint"] == 2)
    assert working.is_alive()
    write_wants(tmp_path, 3, checkpoint=2)
    working.join(10)
    assert not working.is_alive()
    assert (says(tmp_path)["state"], save.count) == ("running", 2)


def test_sigterm_writes_a_checkpoint_and_ends(agent, tmp_path, save):
    agent.terminate()
    with pytest.raises(Stopped) as stopped:
        agent.reached(7, 1.0, save)
    assert stopped.value.code == 143
    assert (says(tmp_path)["state"], says(tmp_path)["checkpoint_step"], save.count) == ("held", 7, 1)


def test_sigterm_ends_a_held_job(agent, tmp_path, save):
    write_wants(tmp_path, 1, hold=True)
    threading.Timer(0.2, agent.terminate).start()
    with pytest.raises(Stopped):
        agent.reached(3, 1.0, save)
    assert (says(tmp_path)["checkpoint_step"], save.count) == (3, 1)


def test_sigterm_ends_a_job_that_prepares_at_once(tmp_path, threads):
    agent = Agent(tmp_path, threads)
    agent.prepare(0, 10)
    with pytest.raises(Stopped):
        agent.terminate()


def test_a_resumed_job_writes_no_reading_twice_and_no_checkpoint_again(agent, tmp_path, threads, save):
    write_wants(tmp_path, 1, checkpoint=1)
    for step in range(1, 6):
        agent.reached(step, 1 / step, save)
    resumed = Agent(tmp_path, threads)
    resumed.begin(3, 10, save)
    for step in range(4, 8):
        assert resumed.is_new(step) == (step > 5)
        resumed.reached(step, 1 / step, save)
    lines = (tmp_path / "readings.csv").read_text().splitlines()
    assert [int(line.split(",")[1]) for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert save.count == 1


def test_a_line_that_was_cut_off_does_not_spoil_the_next(tmp_path, threads, save):
    (tmp_path / "readings.csv").write_text("1700000000.1,1,2.5\n1700000001.2,2,0.")
    agent = Agent(tmp_path, threads)
    agent.begin(1, 10, save)
    agent.reached(2, 0.25, save)
    lines = (tmp_path / "readings.csv").read_text().splitlines()
    assert lines[:2] == ["1700000000.1,1,2.5", "1700000001.2,2,0."]
    assert lines[2].endswith(",2,0.25")


def test_without_a_folder_it_counts_steps_and_minds_sigterm(threads, save):
    agent = Agent(None, threads)
    agent.begin(0, 3, save)
    agent.reached(1, 1.0, save)
    assert (agent.step, save.count) == (1, 0)
    agent.terminate()
    with pytest.raises(Stopped):
        agent.reached(2, 1.0, save)
    assert save.count == 1


def test_a_folder_that_is_gone_does_not_end_the_job(tmp_path, threads, save):
    agent = Agent(tmp_path / "gone", threads)
    agent.begin(0, 3, save)
    agent.reached(1, 1.0, save)
    agent.finish()
    assert agent.step == 1


def test_a_reader_never_sees_half_a_file(tmp_path):
    path, seen, over = tmp_path / "says.json", set(), threading.Event()
    write_atomically(path, lambda file: file.write(b"0" * 5000), lasting=False)

    def read_repeatedly():
        while not over.is_set():
            text = path.read_bytes()
            seen.add((len(text), len(set(text))))

    looking = threading.Thread(target=read_repeatedly)
    looking.start()
    for number in range(300):
        text = str(number % 10).encode() * 5000
        write_atomically(path, lambda file, text=text: file.write(text), lasting=False)
    over.set()
    looking.join()
    assert seen == {(5000, 1)}
    assert [one.name for one in tmp_path.iterdir()] == ["says.json"]
