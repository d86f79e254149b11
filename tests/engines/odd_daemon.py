"""A Docker daemon of a few answers, as Docker 20.10 gives them, each of which can be spoilt on its way."""

from __future__ import annotations

import http.server
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

NAMES = ("odd", "one", "other")
IDS = {name: f"{at + 1:x}" * 64 for at, name in enumerate(NAMES)}
LINE = b"2026-03-04T05:06:07.%09dZ loss=0.5\n"


def listed(name):
    return {
        "Id": IDS[name],
        "Names": [f"/{name}"],
        "Image": "trainer:1",
        "Created": 1_795_893_115,
        "Labels": {"phasedock": ""},
        "State": "running",
        "Status": "Up 3 seconds",
    }


def described(name):
    return {
        "Id": IDS[name],
        "Created": "2026-03-04T05:06:05.974871256Z",
        "Name": f"/{name}",
        "RestartCount": 0,
        "State": {
            "Status": "running",
            "Pid": 4_194_000,
            "ExitCode": 0,
            "OOMKilled": False,
            "Error": "",
            "StartedAt": "2026-03-04T05:06:06.1Z",
            "FinishedAt": "0001-01-01T00:00:00Z",
        },
        "Config": {
            "Image": "trainer:1",
            "Labels": {"phasedock": ""},
            "Entrypoint": None,
            "Cmd": ["python3", "train.py"],
        },
        "HostConfig": {
            "NetworkMode": "none",
            "NanoCpus": 1_500_000_000,
            "CpuQuota": 0,
            "CpuPeriod": 0,
            "CpuShares": 0,
            "Memory": 268_435_456,
            "MemorySwap": 536_870_912,
            "MemoryReservation": 0,
            "CpusetCpus": "",
        },
    }


def measured():
    used = int(time.monotonic() * 0.5e9)
    return {
        "read": "2026-03-04T05:06:07.377562724Z",
        "preread": "0001-01-01T00:00:00Z",
        "blkio_stats": {
            "io_service_bytes_recursive": [{"major": 8, "minor": 0, "op": "Read", "value": 4096}]
        },
        "cpu_stats": {
            "cpu_usage": {"total_usage": used, "percpu_usage": [used]},
            "system_cpu_usage": 123_616_950_000_000,
            "online_cpus": 2,
            "throttling_data": {"periods": 7, "throttled_periods": 0, "throttled_time": 0},
        },
        "memory_stats": {"usage": 3_047_424, "stats": {"inactive_file": 0, "total_inactive_file": 4096}},
        "networks": {"eth0": {"rx_bytes": 10, "tx_bytes": 20}},
    }


INFO = {
    "ID": "ABCD:EFGH",
    "NCPU": 2,
    "MemTotal": 4_000_000_000,
    "ServerVersion": "20.10.24",
    "CgroupVersion": "1",
    "DockerRootDir": "/var/lib/docker",
}


def framed(text):
    return b"\x01\x00\x00\x00" + len(text).to_bytes(4, "big") + text


def leave(_asked, _answer):
    """Spoil nothing."""


class Daemon:
    """What is answered; `spoil` gets what is asked and returns (status, body), or None to leave it."""

    def __init__(self):
        self.spoil = leave
        self.url = ""
        self.over = threading.Event()

    def answer(self, path):
        parts = path.split("/")[2:] if path.startswith("/v") and path[2].isdigit() else path.split("/")[1:]
        match parts:
            case ["version" | "info" as what]:
                return (what, ""), INFO if what == "info" else {"ApiVersion": "1.41"}
            case ["containers", "json"]:
                return ("list", ""), [listed(name) for name in NAMES]
            case ["containers", container, what]:
                name = next((name for name, each in IDS.items() if each == container), "")
                if not name:
                    return ("missing", ""), {"message": f"No such container: {container}"}
                if what == "logs":
                    return ("logs", name), framed(LINE % (time.monotonic_ns() % 10**9))
                return (what, name), described(name) if what == "json" else measured()
        return ("", ""), "OK"


@contextmanager
def serving():
    """A daemon on the loopback address."""
    daemon = Daemon()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = urlsplit(self.path).path
            if path.endswith("/events"):
                self.send_response(200)
                self.end_headers()
                self.wfile.flush()
                daemon.over.wait(60)
                self.close_connection = True
                return
            asked, plain = daemon.answer(path)
            body = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
            status, body = daemon.spoil(asked, plain) or (404 if asked[0] == "missing" else 200, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        daemon.url = f"tcp://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield daemon
        daemon.over.set()
        server.shutdown()
