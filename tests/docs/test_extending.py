"""The examples of docs/extending.md are added to a copy of PhaseDock, and are then everywhere."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.examples import BLOCKS, ROOT, TEXT

pytestmark = [pytest.mark.slow, pytest.mark.long]
INSIDE = ("core/", "app/")


def changed(text, diff):
    """A file after a change in parts (`@@` between them); lines begin with a space or a plus."""
    for hunk in diff.split("\n@@\n"):
        lines = hunk.splitlines()
        before = "\n".join(line[1:] for line in lines if line[:1] == " ") + "\n"
        after = "\n".join(line[1:] for line in lines if line[:1] in " +") + "\n"
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def entry_points(outside, declared):
    """What installing a package leaves: its metadata beside its modules."""
    groups = tomllib.loads(declared)["project"]["entry-points"]
    info = outside / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n{name} = {value}\n" for group, all_ in groups.items() for name, value in all_.items()
    ]
    (info / "entry_points.txt").write_text("".join(lines))


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Where everything is, in a copy to which all examples were added; several workers make one."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / "extending.json").open("a+", encoding="utf-8") as answer:
        fcntl.flock(answer, fcntl.LOCK_EX)
        if not answer.seek(0, os.SEEK_END):
            made = added(tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("outside"))
            answer.write(json.dumps(made))
        answer.seek(0)
        return json.load(answer)


def added(copy, outside):
    """Add all examples to a copy of PhaseDock; where they are then, by its own account."""
    # compiled modules come along, as files keep their time and size; not what another worker is writing
    half_written = shutil.ignore_patterns("*.pyc.*", "*.nbi.*", "*.nbc.*")
    for name in ("core", "app", "assets", "data", "docs", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=half_written)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for language, name, text in BLOCKS:
        target = (copy if name.startswith(INSIDE) else outside) / name
        if language == "diff":
            target.write_text(changed(target.read_text(encoding="utf-8"), text), encoding="utf-8")
        elif language == "toml":
            entry_points(outside, text)
        else:
            assert not target.exists(), name
            target.write_text(text, encoding="utf-8")
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(path) for path in (copy, outside, ROOT)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PHASEDOCK_HOME": str(outside / "home"),
        "PHASEDOCK_POLICIES": str(outside / "mine.py"),
        "PHASEDOCK_CONTROL": "1",
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("everywhere.py")), str(outside)],
        check=False, cwd=outside, env=environ, capture_output=True, text=True, timeout=110
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert Path(answer["core"]).is_relative_to(copy)
    return {**answer, "copy": str(copy), "environ": environ}


def test_a_provisioning_policy_is_everywhere(copied):
    there = copied["provisioning"]
    assert there["exam"] is None
    assert there["form"]
    assert there["compared"] == ["last.sample", "prev.step.max"]
    assert (there["by_set"], there["by_file"]) == ({"margin": 0.5}, {"margin": 0.4})
    assert copied["listed"]["last.sample"] == "PhaseDock"


def test_a_scheduling_policy_is_everywhere(copied):
    there = copied["scheduling"]
    assert there["exam"] is None
    assert there["form"]
    assert there["chosen"]
    assert set(there["ran"]) == {"free", "fixed.share"}
    assert there["ran"]["fixed.share"]["share"] == 0.25
    assert copied["listed"]["fixed.share"] == "PhaseDock"


def test_policies_that_live_elsewhere_are_beside_the_others(copied):
    assert copied["refused"] == []
    assert copied["listed"]["my.max"].endswith("mine.py")
    assert copied["listed"]["my.free"].endswith("mine.py")
    assert "their_policies:POLICIES" in copied["listed"]["their.p95"]
    assert copied["application"]["offered"] == ["last.sample", "my.max", "their.p95"]


def test_a_format_and_a_layout_are_everywhere(copied):
    there = copied["files"]
    assert there["read"]
    assert there["title"]
    assert "key_values" in there["formats"]
    assert "slurm" in there["layouts"]
    assert there["recognised"] == "slurm"


def test_a_kind_of_task_is_done_and_a_page_is_shown(copied):
    there = copied["application"]
    assert there["task"] == {"samples": there["samples"]}
    assert there["page"]
    assert there["status"] == 200


def test_an_engine_is_watched_steered_and_put_back(copied):
    there = copied["engine"]
    assert there.pop("attached").startswith("Policies cannot follow the containers of practice")
    assert "Policies cannot follow it." in there.pop("offered")
    assert there == {"cores": 4.0, "watched": ["job"], "changed": 0.5, "restored": ["job"], "after": 3.0}


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_example_passes_the_exam_of_its_kind(copied):
    exams = ("provisioning_policies", "scheduling_policies", "formats", "layouts", "task_kinds", "pages")
    names = ("last.sample", "fixed.share", "key_values", "slurm", "count_samples", "Notes")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "0"),
            *("-p", "no:cacheprovider", "-p", "no:slipcover"),
            *("-k", " or ".join((*names, "docs", "documentation", "listed", "place"))),
            *(f"tests/contracts/test_{exam}.py" for exam in exams)
        ],
        check=False, cwd=copied["copy"], env=copied["environ"], capture_output=True, text=True, timeout=110
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 30  # type: ignore[index]


def test_each_thing_is_one_file_one_import_and_one_entry():
    files = [name for language, name, _ in BLOCKS if language == "python" and name.startswith(INSIDE)]
    lines = {name: text.splitlines() for language, name, text in BLOCKS if language == "diff"}
    assert {sum(line.startswith("+") for line in each) for each in lines.values()} == {2}
    assert not any(line.startswith("-") for each in lines.values() for line in each)
    assert len(files) == len(lines) == 7


def test_every_file_that_is_named_is_there():
    for path in re.findall(r"`((?:core|app|tests|assets)/[\w./-]+)`", TEXT):
        assert (ROOT / path).exists(), path
