"""What a person says of a job becomes one that can be run, or a sentence at the field that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.live.queue.spec import OWN, JobNotAccepted, JobSettings, JobSpec, Mounts, read_job
from core.sampling.values import EngineInfo, EngineState
from core.units import GIB

NOW = 1_800_000_000.0
ENGINE = EngineInfo("here", "", EngineState.READY, cores=4.0, memory=8 * GIB)


def read(mounts=None, **values):
    return read_job(JobSettings(**values), ENGINE, mounts or Mounts(), NOW)


def wrong(mounts=None, **values):
    """What is wrong, by field."""
    with pytest.raises(JobNotAccepted) as caught:
        read(mounts, **values)
    assert all(name in caught.value.message for name in caught.value.fields)
    return caught.value.fields


def test_a_bundled_program_has_its_image_and_follows_its_cores():
    name, spec = read(program="vae", command="--steps 50", min=0.5, max=2.0, memory=0.5)
    assert (name, spec.image, spec.follows, spec.program) == ("vae", "phasedock-jobs:torch", True, "vae")
    assert spec.command == ("python3", "-m", "phasedock_jobs", "vae", "--steps", "50")
    assert (spec.request, spec.least, spec.most, spec.memory) == (1.0, 0.5, 2.0, 2**29)


def test_an_image_of_ones_own_is_run_as_it_is():
    name, spec = read(
        image="registry.example/team/trainer:2", command="train 'two words'", environment="A=1 B="
    )
    assert (name, spec.command) == ("trainer", ("train", "two words"))
    assert (spec.environment, spec.follows, spec.program) == ({"A": "1", "B": ""}, False, "")
    assert (spec.least, spec.most, spec.memory, spec.volumes, spec.ports) == (None, None, None, {}, {})
    assert read(image="trainer", name="mine")[0] == "mine"


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({}, "image", "Name an image that the engine has, or choose a bundled program."),
        ({"image": "x", "program": "mlp"}, "image", "mlp has its own"),
        ({"image": "a b"}, "image", "Write it as Docker does"),
        ({"image": "x", "command": "a 'b"}, "command", "Close its quotes"),
        ({"image": "x", "name": "two words"}, "name", "at most 40 letters"),
        ({"image": "x", "request": 5.0}, "request", "here has 4.00 cores; at most that would be accepted."),
        ({"image": "x", "min": 2.0}, "min", "at most the 1.00 cores"),
        ({"image": "x", "request": 2.0, "max": 1.0}, "max", "at least the 2.00 cores"),
        ({"image": "x", "memory": 9.0}, "memory", "here has 8.00 GiB"),
        ({"image": "x", "memory": 0.001}, "memory", "at least 6.00 MiB"),
        ({"image": "x", "environment": "FEW MANY=1"}, "environment", "“FEW” is not of the form NAME=value"),
        ({"image": "x", "volumes": "/srv:/data"}, "volumes", "/srv may not be mounted"),
        ({"image": "x", "volumes": "data:/data"}, "volumes", "is not a volume"),
        (
            {"image": "x", "ports": "80:80"},
            "ports",
            "80 may not be published; PHASEDOCK_ALLOWED_PORTS lists nothing",
        ),
        ({"image": "x", "ports": "80"}, "ports", "is not a port mapping"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(values, field, said):
    found = wrong(**values)
    assert list(found) == [field]
    assert said in found[field]


def test_everything_that_is_wrong_is_said_at_once_in_the_order_of_the_form():
    assert list(wrong(image="a b", command="'", request=9.0, volumes="/x:/y")) == [
        "image",
        "command",
        "request",
        "volumes",
    ]


def test_volumes_and_ports_are_those_that_the_settings_list(tmp_path, sentence):
    inside = tmp_path / "data" / "sets"
    inside.mkdir(parents=True)
    mounts = Mounts((str(tmp_path / "data"),), ((6006, 6010),))
    spec = read(mounts, image="x", volumes=f"{inside}:/sets:ro, {tmp_path}/data:/all", ports="6007:6006")[1]
    assert spec.volumes == {str(inside): "/sets:ro", f"{tmp_path}/data": "/all"}
    assert spec.ports == {"6007": "6006"}
    for source in (tmp_path, tmp_path / "data-2", f"{tmp_path}/data/../other"):
        sentence(wrong(mounts, image="x", volumes=f"{source}:/x")["volumes"])
    assert "lists 6006-6010" in wrong(mounts, image="x", ports="6011:80")["ports"]


def test_a_link_does_not_lead_out_of_an_allowed_folder(tmp_path, sentence):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "out").symlink_to("/etc")
    mounts = Mounts((str(tmp_path / "data"),))
    sentence(wrong(mounts, image="x", volumes=f"{tmp_path}/data/out:/x")["volumes"])


@given(st.text(max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_typed_is_read_or_refused_with_a_sentence(command, name, environment):
    chosen = JobSettings(OWN, "x", command, name, environment=environment)
    try:
        read_back = [read_job(chosen, ENGINE, Mounts(), NOW)[1]]
        refused = {}
    except JobNotAccepted as error:
        read_back, refused = [], error.fields
    assert set(refused) <= {"command", "name", "environment"}
    assert bool(read_back) != bool(refused)
    assert all(JobSpec.from_dict(spec.to_dict()) == spec for spec in read_back)
