"""Under a prefix every address has it; only a trusted proxy says what the browser asked for."""

import re

import pytest
from flask import jsonify, request

from app.main import create_app
from app.pages import PAGES
from core.config import Settings

LOCAL = "http://127.0.0.1:8050"


def app_with(tmp_path, **more):
    made = create_app(Settings(home=tmp_path, **more)).server

    @made.get("/seen")
    def seen():
        return jsonify(host=request.host, scheme=request.scheme, sender=request.remote_addr)

    return made


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """An app under /pd."""
    return app_with(tmp_path_factory.mktemp("below"), prefix="/pd").test_client()


PATHS = [page.path for _, page in PAGES.items()]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("came", ["/pd", ""], ids=["kept", "taken off"])
def test_every_address_in_a_document_has_the_prefix(below, path, came):
    answer = below.get(came + path, base_url=LOCAL)
    assert answer.status_code == 200
    own = re.findall(r'(?:href|src|action)="(/[^"]*)"', answer.text)
    assert own
    assert [each for each in own if not each.startswith("/pd/")] == []
    assert [each for each in own if each.startswith("/pd/pd/")] == []


def test_every_address_in_the_layout_of_a_page_has_the_prefix(below):
    page_names = "|".join(path.strip("/") for path in PATHS if path != "/")
    for answer in (below.get("/pd/_dash-layout", base_url=LOCAL).text, overview(below)):
        body = answer.replace(r"\u002f", "/")
        assert '"/pd/' in body
        assert re.findall(rf'"[\w-]+": ?"/(?:api|assets|{page_names})[/?"][^"]*', body) == []


def overview(client):
    """The answer of the callback that draws the first page."""
    asked = {
        "output": ".._pages_content.children..._pages_store.data..",
        "outputs": [
            {"id": "_pages_content", "property": "children"},
            {"id": "_pages_store", "property": "data"},
        ],
        "inputs": [
            {"id": "_pages_location", "property": "pathname", "value": "/pd/"},
            {"id": "_pages_location", "property": "search", "value": ""},
        ],
        "changedPropIds": ["_pages_location.pathname"],
    }
    answer = client.post("/pd/_dash-update-component", json=asked, base_url=LOCAL)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_redirect_has_the_prefix_and_the_cookie_keeps_to_it(tmp_path):
    client = app_with(tmp_path, prefix="/pd", password="correct horse").test_client()
    asked = client.get("/pd/traces", base_url=LOCAL, headers={"Accept": "text/html"})
    assert asked.headers["Location"] == "/pd/login"
    answer = client.post("/pd/login", base_url=LOCAL, data={"password": "correct horse"})
    assert answer.headers["Location"] == "/pd/"
    assert "Path=/pd" in answer.headers["Set-Cookie"]


FORWARDED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "box.example",
}


@pytest.mark.parametrize(
    ("trusted", "sender", "believed"),
    [
        (("10.0.0.0/8",), "10.1.2.3", True),
        (("10.0.0.0/8",), "192.168.0.1", False),
        (("127.0.0.1/32", "::1/128"), "::1", True),
        ((), "127.0.0.1", False),
    ],
)
def test_forwarded_headers_count_only_from_a_trusted_address(tmp_path, trusted, sender, believed):
    client = app_with(tmp_path, trusted_proxy=trusted, allowed_hosts=("box.example",)).test_client()
    seen = client.get("/seen", base_url=LOCAL, headers=FORWARDED, environ_base={"REMOTE_ADDR": sender}).json
    said = {"host": "box.example", "scheme": "https", "sender": "203.0.113.9"}
    assert seen == (said if believed else {"host": "127.0.0.1:8050", "scheme": "http", "sender": sender})


def test_a_trusted_proxy_does_not_open_another_name(tmp_path):
    client = app_with(tmp_path, trusted_proxy=("127.0.0.1/32",)).test_client()
    assert client.get("/seen", base_url=LOCAL, headers=FORWARDED).status_code == 403


@pytest.mark.parametrize(("origin", "status"), [("https://box.example", 200), ("https://evil.example", 403)])
def test_behind_a_trusted_proxy_strangers_are_still_refused(tmp_path, origin, status):
    more = {"trusted_proxy": ("127.0.0.1/32",), "allowed_hosts": ("box.example",)}
    client = app_with(tmp_path, **more).test_client()
    answer = client.post("/api/uploads", json={"name": "a.csv", "size": 1}, base_url=LOCAL,
                         headers=FORWARDED | {"Origin": origin})  # fmt: skip
    assert answer.status_code == status
