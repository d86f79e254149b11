"""What all tests share: no network, how many examples, a workspace of their own, and a Docker Engine.

Fixtures import what they need: the process that hands tests out loads this, too, and runs none.
"""

import logging
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

pytest_plugins = ("tests.sentences",)

HERE = Path(__file__).resolve().parent
ALL_REQUIRED = os.environ.get("PHASEDOCK_TESTS_ALL") == "1"
for _name in [name for name in os.environ if name.startswith("PHASEDOCK_") or name == "PORT"]:
    if not _name.startswith(("PHASEDOCK_TEST", "PHASEDOCK_FUZZ")):
        del os.environ[_name]  # settings of whoever runs the tests are not those of the tests

LONG = os.environ.get("PHASEDOCK_TESTS_LONG") == "1"
#: whether somebody says how much the tests of random input try, so that nothing is known of their time
COUNTED = any(name.startswith("PHASEDOCK_FUZZ_") for name in os.environ)
hypothesis_settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25
)
hypothesis_settings.register_profile("long", hypothesis_settings.get_profile("default"), max_examples=200)
hypothesis_settings.load_profile("long" if LONG else "default")

MOST_SECONDS = 3.0
#: a core whose other half is busy counts up to twice the seconds
SHARED_CORE = 2.0
SLOW_FAILS = os.environ.get("PHASEDOCK_TESTS_SLOW") == "fail"


def pytest_configure(config):
    config.addinivalue_line("markers", "loopback: talks to a process of its own on 127.0.0.1")


def pytest_collection_modifyitems(items):
    """Switch the network on where a test is about it; skip, by name, what this machine cannot do."""
    for item in items:
        folder = Path(item.path).relative_to(HERE).parts[0]
        if folder in ("browser", "live") or item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.enable_socket)
        elif item.get_closest_marker("loopback"):
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))
        reason = missing_tool({folder} | {mark.name for mark in item.iter_markers()})
        if reason and not ALL_REQUIRED:
            item.add_marker(pytest.mark.skip(reason=f"{item.name}: {reason}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test that takes longer than `MOST_SECONDS` and is marked neither slow nor long.

    Seconds of the test's own thread count, which a busy machine does not lengthen; with
    ``PHASEDOCK_TESTS_SLOW=fail`` those of the clock do. `make test-long` measures and so takes longer.
    """
    clock = time.monotonic if SLOW_FAILS else time.thread_time
    began = clock()
    yield
    taken = clock() - began
    marked = {"slow", "long", "live", "browser"} & {mark.name for mark in item.iter_markers()}
    if taken > MOST_SECONDS * (1 if SLOW_FAILS else SHARED_CORE) and not (marked or LONG or COUNTED):
        pytest.fail(f"It takes {taken:.1f} s: make it faster, or mark it slow.", pytrace=False)


def missing_tool(words):
    """Why a test of these folders and marks cannot run on this machine, or None."""
    from tests.browser.serving import chromium

    if "browser" in words and chromium() is None:
        return "needs Chromium, which is not installed (tests/install-what-tests-need.sh)"
    return None


@pytest.fixture(autouse=True)
def _remove_log_handlers():
    """End the logging that a command began: its stream is closed when its test is over."""
    yield
    for handler in logging.root.handlers[:]:
        if not type(handler).__module__.startswith("_pytest"):
            logging.root.removeHandler(handler)
            handler.close()


@pytest.fixture
def settings(tmp_path):
    """Settings with a home of their own."""
    from core.config import Settings

    return Settings(home=tmp_path / "home")


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory):
    """A home in which a workspace was opened; making its tables takes longer than most tests."""
    from core.bootstrap import open_workspace
    from core.config import Settings

    home = tmp_path_factory.mktemp("empty") / "home"
    open_workspace(Settings(home=home)).close()
    return home


@pytest.fixture
def workspace(settings, empty_home):
    """An empty workspace."""
    from core.bootstrap import open_workspace

    shutil.copytree(empty_home, settings.home, dirs_exist_ok=True)
    opened = open_workspace(settings)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def docker_url():
    """The address of a Docker Engine that may be used for tests."""
    from tests.live import host

    host.demand()
    with host.engine() as url:
        yield url


@pytest.fixture(scope="session")
def light_image(docker_url):
    """The image of the NumPy programs."""
    from tests.live import host

    return host.build_image(docker_url, "light")


@pytest.fixture(scope="session")
def torch_image(docker_url):
    """The image that has PyTorch as well."""
    from tests.live import host

    return host.build_image(docker_url, "torch")


@pytest.fixture(scope="session")
def tensorflow_image(docker_url):
    """The image that has TensorFlow as well."""
    from tests.live import host

    return host.build_image(docker_url, "tensorflow")


@pytest.fixture(scope="session")
def docker_client(docker_url):
    """docker-py on that engine, for looking at what really is."""
    from tests.live import host

    with host.connect(docker_url) as client:
        yield client
