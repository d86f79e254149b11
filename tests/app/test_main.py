"""The application as gunicorn gets it."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.main import wsgi

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASEDOCK_HOME", str(tmp_path / "home"))
    yield wsgi()
    gc.unfreeze()


@pytest.mark.usefixtures("server")
def test_collecting_garbage_does_not_walk_what_the_start_made():
    assert gc.get_freeze_count() > 10 * len(gc.get_objects())


def test_every_page_has_all_scripts_however_early_it_is_asked_for(server):
    def page(_):
        return server.test_client().get("/", base_url="http://127.0.0.1:8050").text

    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(page, range(16)))
    for name in (path.relative_to(ASSETS).as_posix() for path in ASSETS.rglob("*.js")):
        assert all(f"/assets/{name}" in text for text in pages), name
