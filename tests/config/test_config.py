"""Settings: right values are read, wrong ones stop the start with their name."""

import string
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import SETTINGS, Settings, child_environment, is_loopback, load_settings
from core.errors import SettingsError


def test_an_empty_environment_gives_the_documented_defaults(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    settings = load_settings({})
    assert settings == Settings(home=tmp_path / ".phasedock")
    assert (settings.host, settings.port, settings.control) == ("127.0.0.1", 8050, False)
    assert settings.max_upload == 4 * 2**30
    assert settings.database_url == f"sqlite:///{tmp_path / '.phasedock' / 'phasedock.db'}"
    assert (settings.redis_url, settings.password, settings.allowed_hosts) == (None, None, ())


def test_empty_values_count_as_absent():
    assert load_settings({row.name: "" for row in SETTINGS}) == load_settings({})


def test_the_process_environment_is_read_when_nothing_is_given(monkeypatch):
    monkeypatch.setenv("PORT", "9123")
    assert load_settings().port == 9123


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2 * 2**30), ("500MB", 500 * 10**6), ("1.5 kib", 1536), ("42", 42), ("7 b", 7), ("3k", 3072)],
)
def test_sizes(text, size):
    assert load_settings({"PHASEDOCK_MAX_UPLOAD": text}).max_upload == size


@pytest.mark.parametrize("text", ["on", "1", "TRUE", "yes"])
def test_switches_on(text):
    assert load_settings({"PHASEDOCK_CONTROL": text}).control is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("PORT", "80.5"),
        ("PHASEDOCK_CONTROL", "maybe"),
        ("PHASEDOCK_MAX_UPLOAD", "lots"),
        ("PHASEDOCK_MAX_UPLOAD", "0"),
        ("PHASEDOCK_MAX_UPLOAD", "9" * 400),
        ("PHASEDOCK_MAX_UPLOAD", "5 parsecs"),
        ("DATABASE_URL", "mysql://somewhere/db"),
        ("DATABASE_URL", "phasedock.db"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "http://localhost"),
        ("HOST", "not a host!"),
        ("PHASEDOCK_ALLOWED_HOSTS", "fine.example, http://x/y"),
        ("PHASEDOCK_TASK_THREADS", "-1"),
        ("PHASEDOCK_ALLOWED_VOLUMES", "data"),
        ("PHASEDOCK_ALLOWED_VOLUMES", "/srv/../etc"),
        ("PHASEDOCK_PREFIX", "/a b"),
        ("PHASEDOCK_PREFIX", "/a/../b"),
        ("PHASEDOCK_TRUSTED_PROXY", "nginx"),
        ("PHASEDOCK_TRUSTED_PROXY", "10.0.0.1/8"),
        ("PHASEDOCK_ALLOWED_PORTS", "0"),
        ("PHASEDOCK_ALLOWED_PORTS", "90-80"),
    ],
)
def test_a_wrong_value_is_named_with_what_it_may_be(name, value, refuses):
    environ = {name: value, "PHASEDOCK_PASSWORD": "long enough"}
    with refuses(SettingsError):
        load_settings(environ)


@pytest.mark.parametrize("home", ["with\0null", "x" * 5000, "~nobody-of-this-name/x"])
def test_a_home_that_cannot_be_is_refused(home, refuses):
    with refuses(SettingsError):
        load_settings({"PHASEDOCK_HOME": home})


def test_a_home_that_is_a_file_is_refused(tmp_path, refuses):
    file = tmp_path / "file"
    file.write_text("x")
    with refuses(SettingsError):
        load_settings({"PHASEDOCK_HOME": str(file)})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.4", "box.example"])
def test_a_wider_address_needs_a_password(host, refuses):
    with refuses(SettingsError):
        load_settings({"HOST": host})
    assert load_settings({"HOST": host, "PHASEDOCK_PASSWORD": "long enough"}).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1"])
def test_loopback_addresses_need_none(host):
    assert is_loopback(host)
    assert load_settings({"HOST": host}).loopback


def test_a_short_password_is_refused_without_being_shown():
    with pytest.raises(SettingsError) as caught:
        load_settings({"PHASEDOCK_PASSWORD": "sesame"})
    assert "sesame" not in str(caught.value)


def test_secrets_are_neither_in_errors_nor_in_repr():
    with pytest.raises(SettingsError) as caught:
        load_settings({"DATABASE_URL": "oracle://me:hunter22@db/x"})
    assert "hunter22" not in str(caught.value)
    settings = load_settings(
        {
            "PHASEDOCK_PASSWORD": "hunter22",
            "DATABASE_URL": "postgresql://me:hunter22@db/x",
            "REDIS_URL": "redis://:hunter22@r",
        }
    )
    assert "hunter22" not in repr(settings)
    assert settings.database_url == "postgresql+psycopg://me:hunter22@db/x"


def test_hosts_are_a_list_of_lower_case_names():
    hosts = load_settings({"PHASEDOCK_ALLOWED_HOSTS": "Dock.Example, , other:8050"}).allowed_hosts
    assert hosts == ("dock.example", "other:8050")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8050"),
        ("0.0.0.0", "http://127.0.0.1:8050"),
        ("::", "http://[::1]:8050"),
        ("::1", "http://[::1]:8050"),
        ("localhost", "http://localhost:8050"),
    ],
)
def test_the_address_to_open(host, address):
    assert Settings(home=Path("/x"), host=host).address == address


def test_children_get_what_was_decided(tmp_path):
    settings = Settings(home=tmp_path, port=9000)
    again = load_settings(child_environment(settings))
    assert (again.home, again.port) == (tmp_path, 9000)


@given(
    name=st.sampled_from([row.name for row in SETTINGS]),
    value=st.text(alphabet=string.printable + "é\x00", max_size=40),
)
def test_any_text_is_a_setting_or_a_sentence(name, value):
    said = []
    try:
        load_settings({name: value})
    except SettingsError as error:
        said = [error.message, error.hint]
    assert not said or (name in said[0] and said[1].endswith("."))


def test_each_setting_has_one_variable():
    assert sorted(row.field for row in SETTINGS) == sorted(each.name for each in fields(Settings))
    assert len({row.name for row in SETTINGS}) == len(SETTINGS)


def test_folders_and_ports_for_jobs_are_none_unless_they_are_listed():
    assert load_settings({}).allowed_volumes == load_settings({}).allowed_ports == ()
    given = {
        "PHASEDOCK_ALLOWED_VOLUMES": "/srv/data/: /scratch",
        "PHASEDOCK_ALLOWED_PORTS": "6006, 8800-8899",
    }
    settings = load_settings(given)
    assert settings.allowed_volumes == ("/srv/data", "/scratch")
    assert settings.allowed_ports == ((6006, 6006), (8800, 8899))


@pytest.mark.parametrize("password", [" " * 8, "   short   "])
def test_spaces_do_not_make_a_password_long(password, refuses):
    with refuses(SettingsError):
        load_settings({"PHASEDOCK_PASSWORD": password})


@pytest.mark.parametrize(("text", "prefix"), [("pd", "/pd"), ("/a/b/", "/a/b"), ("/", "")])
def test_a_prefix_is_a_path_without_a_slash_at_its_end(text, prefix):
    settings = load_settings({"PHASEDOCK_PREFIX": text})
    assert settings.prefix == prefix
    assert settings.address == f"http://127.0.0.1:8050{prefix}"
