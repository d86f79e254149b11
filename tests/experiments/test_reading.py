"""Experiments are read from YAML and JSON, and refused by line where something cannot be."""

import itertools
import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MAX_SENTENCE_LENGTH, InputError
from core.experiments.parts import Arrivals, Containers, DrawnJobs, JobKind, ListedJob, WorkerGroup, World
from core.experiments.scenarios import scenario
from core.experiments.spec import Arm, Experiment
from core.experiments.spec_reader import from_dict, read_experiment
from core.experiments.spec_values import SpecError, read_marked
from core.scheduling.model import Profile, Terms
from core.settings_fields import describe
from core.simulation.speedup import SpeedUp, Throughput
from tests.experiments.making import RANDOM, THREE, some, three


def refused(text):
    with pytest.raises(InputError) as error:
        read_experiment(text)
    return error.value


def test_quantities_come_in_their_units():
    made = three()
    assert [job.at for job in made.jobs] == [0.0, 40.0, 80.0]
    assert made.arm("FlowCon").settings == {"alpha": 0.05, "itval": 30.0}
    assert made.baseline == "NA"
    assert made.seeds == (1,)
    other = some()
    assert other.kinds["VAE"].work == (100.0, 400.0)
    assert other.workers == (WorkerGroup("node", 2, 4.0),)
    assert other.seeds == (5, 6, 7)


@pytest.mark.parametrize("text", [THREE, RANDOM])
def test_json_says_the_same_as_yaml(text):
    made = read_experiment(text)
    assert from_dict(made.to_dict()) == made
    assert read_experiment(json.dumps(made.to_dict(), indent="\t")) == made


@pytest.mark.parametrize(
    ("old", "new", "line", "said", "hint"),
    [
        ("at: 40 s", "at: 40 cores", 11, "Arrives at (at) cannot be in “cores”: it is in seconds", "s, sec"),
        ("work: 148.5", "work: 148.5 s", 7, "Work (work) cannot be in “s”: it is in core-seconds", "core-s"),
        ("itval: 0.5 min", "itval: 2 cores", 15, "Interval (itval) cannot be in “cores”", "min"),
        ("cores: 1}", "cores: 50%}", 3, "Cores (cores) cannot be in “%”", "millicores"),
        ("policy: flowcon", "policy: flowcom", 15, "There is no policy called “flowcom”", "flowcon"),
        ("{noise: 0}", "{nose: 0}", 4, "world has no field “nose”", "noise"),
        ("work: 28.2", "wok: 28.2", 8, "A kind of job has no field “wok”", "work"),
        ("settings: {alpha: 5%", "settings: {alfa: 5%", 15, "flowcon has no field “alfa”", "alpha"),
        ("work: 217.3", "work: -217.3", 6, "Work (work) cannot be “-217.3”", "from 0.001 to"),
        ("work: 217.3", "work: [300, 200]", 6, "goes from 300 down to 200", "Swap"),
        ("work: 217.3", "work: [1, 2, 3]", 6, "has 3 values", "one, or two"),
        ("work: 217.3", "work: .nan", 6, "Work (work) cannot be “nan”", "number"),
        ("id: MNIST-P, kind", "id: VAE, kind", 11, "There are two jobs “VAE”", "own id"),
        ("work: 217.3", "work: 217.3, demand: 2", 6, "“VAE” demands 2 cores, but no worker", "Lower"),
        ("at: 80}", "at: 80, demand: 1.5}", 12, "Job “MNIST-T” demands 1.5 cores", "Lower"),
        ("at: 80}", "at: 80, demand: 0}", 12, "Demand (demand) cannot be “0”", "from 0.01"),
        ("at: 80}", "at: 80, demand: -1}", 12, "Demand (demand) cannot be “-1”", "from 0.01"),
        ("kind: MNIST-T, at", "kind: RNN, at", 12, "There is no kind of job “RNN”", "VAE, MNIST-P, MNIST-T"),
        ("kind: MNIST-T, at", "at", 12, "Job “MNIST-T” has no work and no kind", "work"),
        ("version: 1", "version: 2", 1, "The version is “2”", "version: 1"),
        ("label: NA", "label: FlowCon", 15, "two policies labelled “FlowCon”", "label"),
        ("name: Three jobs", "name: Three jobs\nengine: podman", 3, "cannot run on “podman”", "docker"),
        ("name: Three jobs", "name: Three jobs\nengine: docker", 7, "kind “VAE” have no program", "program"),
        ("name: Three jobs", "name: Three jobs\nbaseline: NO", 3, "No policy is labelled “NO”", "NA"),
        ("name: Three jobs", "name: Three jobs\nseeds: 0", 3, "seeds (seeds) cannot be “0”", "from 1"),
        ("name: Three jobs", "name: Three jobs\nseeds: [1, 1]", 3, "one of them appears twice", "once"),
        ("name: Three jobs", "name: a\nname: b", 3, "“name” appears twice", "one"),
        ("{noise: 0}", "{noise: 0", 5, "not YAML or JSON", "brackets"),
        ("{noise: 0}", "&a {noise: 0}", 4, "anchors", "plain"),
        ("{noise: 0}", "!!python/object:os.system x", 4, "tags", "plain"),
        ("{noise: 0}", "[1]", 4, "world must be a mapping", "name: value"),
        ("{count: 1, cores: 1}", "[{id: a}, {id: a}]", 3, "There are two workers “a”", "own id"),
        ("{count: 1, cores: 1}", "[]", 3, "has no workers", "workers"),
        ("name: Three jobs", "name: ''", 2, "has no name", "name"),
        ("name: Three jobs", "name: x\ndrawn: {count: two}", 3, "(count) cannot be “two”", "whole"),
        ("jobs:", "drawn: {count: 3}\narrivals: {by: list, times: [1]}\njobs:", 10, "1 times for 3", "time"),
        (
            "jobs:",
            "arrivals: {by: normal, spacing: 12, spread: 5}\njobs:",
            9,
            "Gaps of 12 s that vary by 5 s would often be below zero.",
            "at most 4 s"
        ),
        ("jobs:", "arrivals: {by: normal, spacing: 12}\njobs:", 9, "Gaps of 12 s that vary", "at most 4 s"),
        ("jobs:", "arrivals: {by: normal, spread: -1}\njobs:", 9, "Spread (spread) cannot be “-1”", "from 0"),
        ("kind: VAE, at: 0", "kind: VAE, at: null", 10, "Arrives at (at) has no value", "from 0")
    ]
)  # fmt: skip
def test_what_cannot_be_is_refused_by_line_and_reason(old, new, line, said, hint):
    assert old in THREE
    error = refused(THREE.replace(old, new, 1))
    assert error.message.startswith(f"Line {line}: ")
    assert said in error.message
    assert hint in error.hint


@pytest.mark.parametrize("text", ["", "- 1", "just text", "a: b: c", "\x00", "x" * 1_000_001, "[" * 500, "{"])
def test_what_is_no_experiment_is_said_in_a_sentence(text):
    assert refused(text).message.endswith(".")


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    with suppress(InputError):
        assert read_experiment(text).name


@given(st.data())
def test_any_change_of_one_line_is_read_or_refused(data):
    lines = RANDOM.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(st.text(alphabet="abc:{}[]-,. 0123456789\n%&*!'\"#", max_size=40))
    with suppress(InputError):
        made = read_experiment("\n".join(lines))
        assert from_dict(made.to_dict()) == made


def test_yaml_words_are_those_of_version_1_2():
    values = read_marked("a: no\nb: 1e3\nc: 010\nd: 10:30\ne: ~\nf: true\ng: '5'\nh: .inf").values
    assert values == {
        "a": "no", "b": 1000.0, "c": 10, "d": "10:30", "e": None, "f": True, "g": "5", "h": float("inf")
    }  # fmt: skip


def settings_of(cls, **more):
    """Instances of a settings dataclass with values within their bounds."""
    fields = {}
    for each in describe(cls):
        if each.name in more:
            continue
        low, high = each.low if each.low is not None else 0.0, each.high if each.high is not None else 1e6
        match each.kind:
            case "int":
                fields[each.name] = st.integers(int(low), int(min(high, 1000)))
            case "float":
                fields[each.name] = st.floats(low, min(high, 1e6))
            case "choice":
                fields[each.name] = st.sampled_from([value for value, _ in each.choices])
            case "bool":
                fields[each.name] = st.booleans()
            case _:
                fields[each.name] = st.text("abcdef-. ", min_size=1, max_size=8)
    return st.builds(cls, **fields, **more)


def spans(low, high):
    return st.tuples(st.floats(low, high), st.floats(low, high)).map(lambda both: tuple(sorted(both)))


TERMS = {
    "request": st.none() | st.floats(2.0, 3.0),
    "min": st.none() | st.floats(0.5, 2.0),
    "max": st.none() | st.floats(3.0, 4.0),
    "memory": st.none() | st.floats(0.1, 10.0),
    "deadline": st.none() | st.floats(1.0, 1e4),
    "slack": st.none() | st.floats(0.1, 10.0),
}
KINDS = settings_of(
    JobKind,
    early=st.none() | st.floats(0.2, 0.999),
    work=spans(0.001, 1e6),
    demand=st.none() | spans(0.01, 4.0),
    checkpoint=st.none() | spans(0.0, 10.0),
    restore=spans(0.0, 10.0),
    weight=st.floats(0.1, 10.0),
    **(TERMS | {"slack": st.none() | spans(0.1, 10.0)}),
    throughput=st.sampled_from([(), ((1.0, 6.0), (2.0, 8.6), (8.0, 7.1))]),
)


@st.composite
def experiments(draw):
    kinds = draw(st.dictionaries(st.text("abc", min_size=1, max_size=3), KINDS, min_size=1, max_size=3))
    listed = settings_of(
        ListedJob,
        id=st.text("xyz", min_size=1, max_size=4),
        kind=st.sampled_from(sorted(kinds)),
        work=st.none() | st.floats(0.001, 1e6),
        demand=st.none() | st.floats(0.01, 4.0),
        at=st.none() | st.floats(0, 1e6),
        priority=st.none() | st.integers(0, 9),
        due=st.none() | st.floats(0, 1e6),
        steps=st.none() | st.integers(1, 10**6),
        **TERMS,
    )
    jobs = tuple(draw(st.lists(listed, max_size=3, unique_by=lambda job: job.id)))
    rule = draw(st.sampled_from(["weights", "rotation", *(["jobs"] if jobs else [])]))
    arrivals = draw(
        settings_of(
            Arrivals,
            times=st.lists(st.floats(0, 1e6), min_size=23).map(tuple),
            spacing=st.floats(30.0, 1e6),
            spread=st.floats(0.0, 10.0),
        )
    )
    return Experiment(
        name=draw(st.text("abcdef", min_size=1)),
        about=draw(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)),
        workers=(WorkerGroup("w", draw(st.integers(1, 5)), draw(st.floats(4.0, 100.0))),),
        kinds=kinds,
        jobs=jobs,
        drawn=DrawnJobs(draw(st.integers(1, 20)), "Job", rule),
        arrivals=arrivals,
        world=draw(settings_of(World)),
        policies=(Arm("NA", "free", {}), Arm("F", "flowcon", {"alpha": draw(st.floats(0.0001, 1.0))})),
        baseline=draw(st.sampled_from(["NA", "F"])),
        seeds=tuple(draw(st.lists(st.integers(0, 100), min_size=1, max_size=5, unique=True))),
    )


@given(experiments())
def test_an_experiment_survives_the_round_trip(made):
    assert from_dict(made.to_dict()) == made
    assert read_experiment(json.dumps(made.to_dict())) == made


def test_a_form_hears_which_field_is_wrong():
    with pytest.raises(SpecError) as error:
        from_dict({**three().to_dict(), "world": {"gamma": -1}})
    assert error.value.path == ("world", "gamma")


def test_the_file_in_the_documentation_is_one():
    text = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    made = read_experiment(text.split("```yaml\n")[1].split("```")[0])
    assert made.n_jobs == 22
    assert made.jobs[1].at == 90.0
    assert made.arm("SpeCon 1%").settings == {"alpha": 0.01, "interval": 30.0}
    rows = text.splitlines()
    for part, cls in {
        "workers": WorkerGroup,
        "world": World,
        "kinds": JobKind,
        "drawn": DrawnJobs,
        "arrivals": Arrivals,
        "docker": Containers,
    }.items():
        at = next(place for place, line in enumerate(rows) if line.startswith(f"| `{part}`"))
        more = itertools.takewhile(lambda line: line.startswith("| …"), rows[at + 1 :])
        row = "".join((rows[at], *more))
        assert [each.name for each in describe(cls) if f"`{each.name}`" not in row] == []


@pytest.mark.parametrize(
    ("kind", "position", "why"),
    [
        ("request: 8, max: 4", "Line 5", "“a” asks for 8 cores, and can have at most 4."),
        ("request: 1, min: 2", "Line 5", "“a” asks for 1 cores, and can have at least 2."),
        ("min: 4, max: 2", "Line 5", "“a” needs at least 4 cores and at most 2."),
        ("priority: 10", "Line 5", "Priority (priority) cannot be “10”."),
        ("memory: 3 cores", "Line 5", "Memory (memory) cannot be in “cores”: it is in GiB."),
        ("throughput: [[2, 5], [1, 4]]", "Line 5", "1 cores come after 2."),
        ("throughput: [3]", "Line 5", "A line of the throughput is not a pair."),
        ("threads: -1", "Line 5", "Threads (threads) cannot be “-1”."),
    ],
)
def test_what_an_owner_cannot_say_is_refused_with_its_line(kind, position, why):
    text = f"version: 1\nname: t\nworkers: {{cores: 8}}\nkinds:\n  a: {{work: 10, {kind}}}\n"
    error = refused(text + "drawn: {count: 2}\npolicies: [elastic]\n")
    assert error.message == f"{position}: {why}"


def test_what_is_said_reaches_the_jobs_of_a_run():
    made = read_experiment(
        "version: 1\nname: t\nworkers: {cores: 8, memory: 16 GiB}\n"
        "kinds:\n  a: {work: 10, request: 4, min: 1, memory: 512 MiB, priority: 3, threads: 4,"
        " malleable: true, fixed: 0.1, overhead: 0.01, deadline: 2 min}\n"
        "  b: {work: 10, throughput: [[1, 6], [2, 9]]}\n"
        "jobs:\n  - {id: x, kind: a, request: 2, priority: 9}\n  - {id: y, kind: b}\npolicies: [elastic]\n"
    )
    given = scenario(made, 1)
    x, y = given.jobs
    assert (x.request, x.min, x.max, x.memory, x.priority) == (2.0, 1.0, None, 2**29, 9)
    assert (x.threads, x.resizable, x.deadline, x.speedup) == (4, True, 120.0, SpeedUp(0.1, 0.9, 0.01))
    assert (y.request, y.speedup) == (None, Throughput(((1.0, 6.0), (2.0, 9.0))))
    assert y.terms == Terms(profile=Profile(((1.0, 0.05), (2.0, 0.05 / 1.5)))), "as one job has a deadline"
    assert given.workers[0].memory == 2**34


REAL = """
version: 1
name: Real
engine: docker
workers: {count: 2, cores: 1}
docker: {threads: static, memory: 2}
kinds:
  MLP: {work: 20, program: mlp --size 2}
drawn: {count: 2}
policies: [free, flowcon]
"""


def test_an_experiment_in_containers():
    made = read_experiment(REAL)
    assert (made.engine, made.docker.threads, made.docker.memory) == ("docker", "static", 2.0)
    assert made.kinds["MLP"].program == "mlp --size 2"
    assert from_dict(made.to_dict()) == made


def test_a_policy_may_have_threads_of_its_own(refuses):
    text = REAL.replace("[free, flowcon]", "[free, {policy: flowcon, label: A, threads: follow}]")
    made = read_experiment(text)
    assert [arm.threads for arm in made.policies] == ["", "follow"]
    assert from_dict(made.to_dict()) == made
    with refuses(InputError):
        read_experiment(text.replace("threads: follow", "threads: many"))


@pytest.mark.parametrize(
    ("was", "wrong"),
    [
        ("cores: 1", "cores: 0.5"),
        ("program: mlp --size 2", "program: ' '"),
        ("drawn: {count: 2}", "jobs: [{id: a, work: 3}]"),
        ("[free, flowcon]", "[free, srpt]"),
        ("threads: static", "threads: some"),
    ],
)
def test_what_only_a_simulator_can_run_is_refused(was, wrong, refuses):
    with refuses(InputError):
        read_experiment(REAL.replace(was, wrong))


def test_workers_are_counted_before_they_are_named():
    groups = "\n".join(f"  - {{id: g{n}, count: 100000, cores: 1}}" for n in range(100))
    began = time.monotonic()
    assert "100,000 workers" in refused(f"version: 1\nname: many\nworkers:\n{groups}\n").message
    assert time.monotonic() - began < 5


def test_no_sentence_is_longer_than_a_screen():
    for text in (
        "version: 1\nname: a\n" + "x" * 70_000 + ": 1",
        f"version: 1\nname: a\nworkers: {{{'y' * 1_000}: 1}}",
    ):
        error = refused(text)
        assert max(len(error.message), len(error.hint)) <= MAX_SENTENCE_LENGTH
