"""How the web process is served: one process, so that its caches are shared by all its threads."""

import os

from core.cli.supervisor import log_to
from core.config import load_settings

# pyarrow's own allocator keeps what the charts of Live once needed, 48 MB; the system's gives it back
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

_settings = load_settings()
_host = f"[{_settings.host}]" if ":" in _settings.host else _settings.host

bind = f"{_host}:{_settings.port}"
workers = 1
worker_class = "gthread"
threads = 8
timeout = 60
graceful_timeout = 4
keepalive = 15
loglevel = "warning"
control_socket_disable = True
# which proxy to believe is PHASEDOCK_TRUSTED_PROXY's to say
forwarded_allow_ips = ""


def post_fork(_server: object, _worker: object) -> None:
    """Send the web process's log to its own file."""
    log_to(_settings.home, "web")
