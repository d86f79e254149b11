"""A hostile page in the same browser, or a rebound name, gets nothing."""

import pytest
from flask import Flask, jsonify

from app.pages import PAGES
from app.security import content_policy, install
from app.shell import layout as shell
from core.config import Settings
from core.tables import Column, Table, render_csv, safe_cell


def server(tmp_path, **more):
    made = Flask("test")
    tmp_path.mkdir(exist_ok=True)
    install(made, Settings(home=tmp_path, **more), lambda: ["'sha256-x'"])  # type: ignore[arg-type]

    @made.route("/thing", methods=["GET", "POST", "PUT", "DELETE"])
    def thing():
        return jsonify(done=True)

    @made.get("/page")
    def page():
        return "<html></html>"

    return made


LOCAL = "http://127.0.0.1:8050"


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:8050", "[::1]:8050", "LOCALHOST"])
def test_our_own_names_pass(tmp_path, host):
    assert server(tmp_path).test_client().get("/thing", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.4:8050", "localhost.evil.example"]
)
def test_a_rebound_name_gets_nothing(tmp_path, host):
    answer = server(tmp_path).test_client().get("/thing", headers={"Host": host})
    assert answer.status_code == 403
    assert "PHASEDOCK_ALLOWED_HOSTS" in answer.text


def test_a_name_that_was_allowed_passes(tmp_path):
    client = server(tmp_path, allowed_hosts=("box.example",)).test_client()
    assert client.get("/thing", headers={"Host": "box.example:8050"}).status_code == 200


@pytest.mark.parametrize("method", ["post", "put", "delete"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": LOCAL}, 200),
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": LOCAL}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": LOCAL}, 200),
    ],
)
def test_what_changes_something_must_come_from_our_pages(tmp_path, method, headers, status):
    client = server(tmp_path).test_client()
    answer = getattr(client, method)("/thing", headers={"Host": "127.0.0.1:8050", **headers})
    assert answer.status_code == status


def test_pages_may_load_nothing_from_elsewhere(tmp_path, sentence):
    answer = server(tmp_path).test_client().get("/page", headers={"Host": "localhost"})
    policy = answer.headers["Content-Security-Policy"]
    sentence(policy)
    assert "http" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "unsafe-eval" not in content_policy([])


def test_a_password_is_asked_for_and_tries_are_counted(tmp_path):
    made = server(tmp_path, host="0.0.0.0", password="correct horse")
    client = made.test_client()
    base = {"Host": "192.168.1.4:8050"}
    asked = client.get("/thing", headers={**base, "Accept": "text/html"})
    assert asked.status_code == 302
    assert asked.headers["Location"] == "/login"
    assert client.get("/thing", headers=base).status_code == 401
    assert client.post("/login", headers=base, data={"password": "wrong"}).status_code == 401
    signed = client.post(
        "/login", headers=base, data={"password": "correct horse"}, base_url="http://192.168.1.4:8050"
    )
    assert signed.status_code == 302
    assert client.get("/thing", base_url="http://192.168.1.4:8050").status_code == 200
    for _ in range(12):
        last = made.test_client().post("/login", headers=base, data={"password": "guess"})
    assert last.status_code == 429


def signed_in(tmp_path, password):
    client = server(tmp_path, password=password).test_client()
    assert client.post("/login", base_url=LOCAL, data={"password": password}).status_code == 302
    assert client.get("/thing", base_url=LOCAL).status_code == 200
    return client


def test_a_new_password_ends_every_session(tmp_path):
    before = signed_in(tmp_path, "correct horse")
    cookie = before.get_cookie("session", domain="127.0.0.1")
    assert cookie is not None
    for password, status in (("battery staple", 401), ("correct horse", 200)):
        later = server(tmp_path, password=password).test_client()
        later.set_cookie("session", cookie.value, domain="127.0.0.1")
        assert later.get("/thing", base_url=LOCAL).status_code == status


def test_a_cookie_of_a_version_before_is_asked_to_sign_in_again(tmp_path):
    made = server(tmp_path, password="correct horse")
    client = made.test_client()
    with client.session_transaction(base_url=LOCAL) as session:
        session["signed_in"] = True
    assert client.get("/thing", base_url=LOCAL).status_code == 401


def test_a_cookie_says_nothing_of_the_password(tmp_path):
    first, second = (signed_in(tmp_path / name, "correct horse") for name in ("one", "two"))
    digests = []
    for client in (first, second):
        with client.session_transaction(base_url=LOCAL) as session:
            digests.append(session["signed_in"])
    assert digests[0] != digests[1]


def test_signing_out_ends_the_session(tmp_path):
    client = signed_in(tmp_path, "correct horse")
    evil = client.post("/logout", base_url=LOCAL, headers={"Origin": "http://evil.example"})
    assert evil.status_code == 403
    assert client.get("/logout", base_url=LOCAL).status_code == 405
    assert client.get("/thing", base_url=LOCAL).status_code == 200
    out = client.post("/logout", base_url=LOCAL, headers={"Origin": LOCAL})
    assert (out.status_code, out.headers["Location"]) == (303, "/login")
    assert client.get_cookie("session", domain="127.0.0.1") is None
    assert client.get("/thing", base_url=LOCAL).status_code == 401


def test_an_answer_that_was_on_its_way_does_not_bring_the_session_back(tmp_path):
    client = signed_in(tmp_path, "correct horse")
    late = client.get("/thing", base_url=LOCAL)
    assert late.status_code == 200
    assert "Set-Cookie" not in late.headers


def test_without_a_password_there_is_nothing_to_sign_out_of(tmp_path):
    client = server(tmp_path).test_client()
    assert client.post("/logout", base_url=LOCAL).status_code == 404
    assert client.get("/login", base_url=LOCAL).status_code == 404


@pytest.mark.parametrize("password", [None, "correct horse"])
def test_the_shell_offers_to_sign_out_only_where_there_is_a_password(tmp_path, password):
    settings = Settings(home=tmp_path, password=password)
    shown = str(shell.layout([page for _, page in PAGES.items()], settings).to_plotly_json())
    assert ("/logout" in shown) is (password is not None)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@sum", "'@sum"),
        ("+cmd", "'+cmd"),
        ("-x", "'-x"),
        ("-1.5", "-1.5"),
        ("+.5", "+.5"),
        ("plain", "plain"),
        (3, 3),
    ],
)
def test_no_cell_is_taken_for_a_formula(cell, written):
    assert safe_cell(cell) == written
    assert list(render_csv(Table("t", [Column("a")], [(cell,)])))[1].startswith(str(written)[0])


def test_signing_out_ends_every_copy_of_the_cookie_and_no_other_session(tmp_path):
    client, elsewhere = (signed_in(tmp_path, "correct horse") for _ in range(2))
    cookie = client.get_cookie("session", domain="127.0.0.1")
    assert cookie is not None
    client.post("/logout", base_url=LOCAL, headers={"Origin": LOCAL})
    copied = server(tmp_path, password="correct horse").test_client()
    copied.set_cookie("session", cookie.value, domain="127.0.0.1")
    assert copied.get("/thing", base_url=LOCAL).status_code == 401
    assert elsewhere.get("/thing", base_url=LOCAL).status_code == 200


def test_the_sign_in_page_may_load_nothing_from_elsewhere(tmp_path):
    answer = server(tmp_path, password="correct horse").test_client().get("/login", base_url=LOCAL)
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_the_cookie_stays_on_tls_where_the_browser_came_over_tls(tmp_path):
    client = server(tmp_path, password="correct horse").test_client()
    for scheme, secure in (("http", False), ("https", True)):
        data = {"password": "correct horse"}
        answer = client.post("/login", base_url=f"{scheme}://127.0.0.1:8050", data=data)
        assert ("Secure" in answer.headers["Set-Cookie"]) is secure


NAVIGATES = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("path", "how", "status"),
    [
        ("/page", NAVIGATES, 200),
        ("/page", {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403),
        ("/page", NAVIGATES | {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/api/live/box", NAVIGATES, 403),
        ("/api/live/box", {"Sec-Fetch-Mode": "no-cors"}, 403),
        ("/_dash-layout", NAVIGATES, 403),
    ],
)
def test_other_sites_may_link_to_pages_and_do_nothing_else(tmp_path, site, path, how, status):
    made = server(tmp_path)
    for address in ("/api/live/box", "/_dash-layout"):
        made.add_url_rule(address, address, lambda: "sampling starts")
    client = made.test_client()
    assert client.get(path, base_url=LOCAL, headers={"Sec-Fetch-Site": site, **how}).status_code == status
    assert client.get(path, base_url=LOCAL, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_a_browser_is_told_on_a_page_which_name_to_allow(tmp_path, sentence):
    asks = {"Host": "box.example:8080", "Accept": "text/html,*/*"}
    answer = server(tmp_path).test_client().get("/page", headers=asks)
    assert (answer.status_code, answer.mimetype) == (403, "text/html")
    assert "PHASEDOCK_ALLOWED_HOSTS=box.example" in answer.text
    asks = {"Host": "<b>", "Accept": "text/html"}
    assert "<b>" not in server(tmp_path).test_client().get("/page", headers=asks).text
