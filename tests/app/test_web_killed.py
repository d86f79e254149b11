"""The web process is killed in mid-upload: nothing acknowledged is lost, nothing half-made shows."""

import http.client
import json
import os
import signal
from urllib.parse import urlsplit

import pytest

from core.bootstrap import open_workspace
from core.config import Settings
from tests.browser.serving import start_server

pytestmark = [pytest.mark.loopback, pytest.mark.slow]
COMPLETE = b"execution,timestamp,cpu_cores\n" + b"".join(b"a,%d,0.5\n" % second for second in range(50))
ANNOUNCED = 8 << 20


def ask(address, method, path, body):
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, content
    return dict(content)


def announce(address, name, size):
    return str(ask(address, "POST", "/api/uploads", json.dumps({"name": name, "size": size}).encode())["id"])


def test_a_kill_in_mid_upload_leaves_what_was_acknowledged_and_nothing_else(tmp_path):
    home = tmp_path / "home"
    server = start_server(home)
    try:
        whole = announce(server.base_url, "whole.csv", len(COMPLETE))
        assert ask(server.base_url, "PUT", f"/api/uploads/{whole}", COMPLETE)["size"] == len(COMPLETE)
        half = announce(server.base_url, "half.csv", ANNOUNCED)
        connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=10)
        connection.putrequest("PUT", f"/api/uploads/{half}")
        connection.putheader("Content-Length", str(ANNOUNCED))
        connection.endheaders()
        connection.send(b"x" * (ANNOUNCED // 2))
        os.killpg(server.web.pid, signal.SIGKILL)
        server.web.wait(10)
        connection.close()
    finally:
        server.stop()
    again = start_server(home)
    try:
        space = open_workspace(Settings(home=home))
        assert [upload.name for upload in space.uploads.list() if upload.complete] == ["whole.csv"]
        assert space.uploads.path(whole).read_bytes() == COMPLETE
        assert space.traces.list() == []
        assert space.traces.list(trashed=True) == []
        space.close()
    finally:
        again.stop()
