"""Behind a real nginx: below a path or at the root, everything works and strangers are refused."""

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.browser.serving import free_port, start_server, stop
from tests.browser.test_traces import import_it, rows, write

PASSWORD = "correct horse"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.timeout(400),
]
CONF = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 0;
    location {location} {{
      proxy_pass http://127.0.0.1:{backend};
      proxy_max_temp_file_size 0; # its workers are another user's, who may not write here
      {headers}
    }}
  }}
}}
"""
FORWARDS = """proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_request_buffering off;"""


def nginx(folder, backend, location="/", headers=FORWARDS):
    """Start nginx in front of a server; returns its process and its address."""
    folder.mkdir()
    port = free_port()
    conf = folder / "nginx.conf"
    conf.write_text(
        CONF.format(folder=folder, port=port, backend=backend, location=location, headers=headers)
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [NGINX, "-c", str(conf), "-e", str(folder / "error.log")],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except urllib.error.HTTPError:
            break
        except OSError:
            time.sleep(0.1)
        else:
            break
    return process, f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module", params=["/pd", ""], ids=["below a path", "at the root"])
def proxied(request, tmp_path_factory):
    """A server with a password behind nginx, and the address that a person opens."""
    folder = tmp_path_factory.mktemp("proxied")
    running = start_server(
        folder / "home",
        PHASEDOCK_PREFIX=request.param,
        PHASEDOCK_TRUSTED_PROXY="127.0.0.1",
        PHASEDOCK_PASSWORD=PASSWORD,
    )
    port = running.base_url.rpartition(":")[2]
    process, address = nginx(folder / "nginx", port, f"{request.param}/")
    yield running, address + request.param
    stop(process)
    running.stop()


def test_everything_a_person_does_works_through_nginx(page, guard, proxied, tmp_path):
    running, address = proxied
    guard.servers.append(running)
    failed = []
    page.on(
        "response",
        lambda answer: failed.append((answer.status, answer.url)) if answer.status >= 400 else None,
    )
    page.goto(f"{address}/traces")
    expect(page).to_have_url(f"{address}/login")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible(timeout=120_000)
    for name in ("Traces", "Models", "Phases", "Sequences", "Provisioning", "Runs", "Live", "Tasks"):
        page.locator("#rail-links").get_by_role("link", name=re.compile(f"^{name}")).click()
        expect(page).to_have_url(re.compile(f"^{re.escape(address)}/{name.lower()}"))
        expect(page.locator("#page h1")).to_be_visible()
        expect(page.locator("#rail-links a.active")).to_contain_text(name)
    uploads(page, address, tmp_path)
    assert failed == []
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{address}/login")
    page.goto(f"{address}/traces")
    expect(page).to_have_url(f"{address}/login")


def uploads(page, address, tmp_path):
    """Add a file, download its table, and open it by a link that the server made."""
    page.goto(f"{address}/traces")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(write(tmp_path, "night batch.csv", rows()))
    import_it(page, "Night batch")
    expect(page).to_have_url(re.compile(f"^{re.escape(address)}/traces\\?.*traces="))
    with page.expect_download() as download:
        page.locator('a[href$="executions.csv"]').first.click()
    assert "job-0" in download.value.path().read_text()
    page.get_by_role("link", name=re.compile("Train a model")).first.click()
    expect(page).to_have_url(re.compile(f"^{re.escape(address)}/models"))


def asked(address, data=None, **headers):
    """The status with which an address answers a program."""
    body = None if data is None else json.dumps(data).encode()
    wanted = {"Content-Type": "application/json"} | {name.replace("_", "-"): v for name, v in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, wanted), timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_strangers_are_refused_through_nginx_as_without_it(proxied):
    _, address = proxied
    own = re.sub(r"^(http://[^/]*).*", r"\1", address)
    new = {"name": "a.csv", "size": 1}
    assert asked(f"{address}/healthz") == 200
    assert asked(f"{address}/healthz", Host="evil.example") == 403
    assert asked(f"{address}/api/uploads", new, Origin="http://evil.example") == 403
    assert asked(f"{address}/api/uploads", new, Origin=own) == 401
    assert asked(f"{address}/healthz", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors") == 403


def test_a_proxy_that_changes_the_host_is_told_so_on_the_page(page, guard, server, tmp_path):
    guard.allow("403|another site")
    port = server.base_url.rpartition(":")[2]
    process, address = nginx(tmp_path / "nginx", port, headers="")
    page.goto(f"{address}/")
    expect(page.get_by_role("alert")).to_contain_text("PHASEDOCK_TRUSTED_PROXY")
    page.goto("about:blank")
    stop(process)


def test_a_name_that_is_not_allowed_is_told_on_a_page(page, guard, server, tmp_path):
    guard.allow("403")
    port = server.base_url.rpartition(":")[2]
    process, address = nginx(tmp_path / "nginx", port, headers="proxy_set_header Host box.example;")
    page.goto(f"{address}/traces")
    expect(page.get_by_text("PHASEDOCK_ALLOWED_HOSTS=box.example")).to_be_visible()
    stop(process)


def test_a_missing_prefix_is_told_on_the_page(page, guard, server, tmp_path):
    guard.allow("404|MIME|DashRenderer")
    port = server.base_url.rpartition(":")[2]
    process, address = nginx(tmp_path / "nginx", f"{port}/", "/pd/")
    page.goto(f"{address}/pd/")
    expect(page.get_by_text("PHASEDOCK_PREFIX")).to_be_visible()
    stop(process)
