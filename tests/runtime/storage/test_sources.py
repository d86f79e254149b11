"""Digests of code: everything below a package counts, and a policy's own file wherever it lies."""

import importlib.util
from dataclasses import replace
from functools import partial

import pytest

from core.provisioning.policies import POLICIES
from core.provisioning.policies.conformal import conformal
from core.runs.runner import run_key
from core.workspace import code_version
from core.workspace.code_version import code_digest
from tests.experiments.making import some

POLICY = """
from core.provisioning.policy import Policy, PolicyKind

def _fit(training, settings, progress):
    return lambda demand: demand.values * {factor}

MINE = Policy("mine", PolicyKind.OURS, "Mine.", _fit)
"""


@pytest.fixture(autouse=True)
def _forget():
    yield
    forget()


def forget():
    """What another process would not know."""
    code_version._shared.cache_clear()
    code_version._digest_below.cache_clear()


def load(path):
    spec = importlib.util.spec_from_file_location("mine", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MINE


@pytest.mark.parametrize("wrap", [lambda policy: policy, conformal, lambda policy: partial(policy.fit, None)])
def test_a_policy_from_a_file_counts_by_its_file(tmp_path, wrap):
    path = tmp_path / "mine.py"
    path.write_text(POLICY.format(factor=2))
    policy = wrap(load(path))
    inside = code_digest(("core.provisioning",), [POLICIES["phase.rule"]])
    assert inside == code_digest(("core.provisioning",))
    first = code_digest(("core.provisioning",), [policy])
    assert first != inside
    path.write_text(POLICY.format(factor=3))
    assert code_digest(("core.provisioning",), [policy]) == first
    forget()
    assert code_digest(("core.provisioning",), [policy]) != first


def test_a_policy_from_a_package_counts_by_all_files_of_it(tmp_path):
    (tmp_path / "__init__.py").touch()
    (tmp_path / "mine.py").write_text(POLICY.format(factor=2))
    policy = load(tmp_path / "mine.py")
    first = code_digest((), [policy])
    (tmp_path / "helper.py").write_text("HALF = 0.5")
    forget()
    assert code_digest((), [policy]) != first


def test_packages_count_by_everything_below_them(monkeypatch, tmp_path):
    package = tmp_path / "somebodys"
    (package / "inner").mkdir(parents=True)
    for path in (package / "__init__.py", package / "inner" / "__init__.py"):
        path.touch()
    monkeypatch.syspath_prepend(tmp_path)
    first = code_digest(("somebodys",))
    (package / "inner" / "deep.py").write_text("x = 1")
    forget()
    second = code_digest(("somebodys",))
    (package / "inner" / "deep.py").rename(package / "deep.py")
    forget()
    assert len({first, second, code_digest(("somebodys",))}) == 3


def test_the_version_counts(monkeypatch):
    first = code_digest(("core.registry",))
    monkeypatch.setattr(code_version, "program_version", lambda: "9.9.9")
    forget()
    assert code_digest(("core.registry",)) != first
    with pytest.raises(ModuleNotFoundError):
        code_digest(("core.nothing",))


def test_a_simulated_run_depends_on_the_simulator_and_a_real_one_on_the_policy_only(monkeypatch, tmp_path):
    simulated = some()
    real = replace(simulated, engine="docker")

    def keys():
        forget()
        return [run_key(each, each.policies[0], 5, "asked") for each in (simulated, real)]

    before, own = keys(), code_version._places
    (tmp_path / "other.py").write_text("# another way")
    for package, same in (("core.simulation", [False, True]), ("core.scheduling", [False, False])):
        monkeypatch.setattr(
            code_version,
            "_places",
            lambda name, changed=package: [*own(name), *([tmp_path / "other.py"] if name == changed else [])],
        )
        assert [now == then for now, then in zip(keys(), before, strict=True)] == same
