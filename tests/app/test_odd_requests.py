"""Requests that no page of ours makes are answered with a sentence, never with an error of the server."""

import re

import pytest

from core.errors import MAX_SENTENCE_LENGTH

LOCAL = "http://127.0.0.1"


@pytest.fixture
def client(server):
    return server.test_client()


def test_a_name_of_260_letters_is_not_found_anywhere(server, client):
    for rule in server.url_map.iter_rules():
        if (
            "GET" not in rule.methods
            or not rule.arguments
            or rule.rule.startswith(("/_dash", "/assets", "/<path"))
        ):
            continue
        for name in ("a" * 260, "0" * 5000, "\u200b", "%00"):
            answer = client.get(re.sub(r"<[^>]*>", name, rule.rule), base_url=LOCAL)
            assert answer.status_code < 500, (rule.rule, name[:10], answer.text[:300])


@pytest.mark.parametrize(
    "body", ["1", "[]", '"x"', "null", "{", '{"name": 1, "size": 1}', '{"name": "a", "size": true}']
)
def test_an_announcement_that_is_none_is_said(client, body):
    answer = client.post("/api/uploads", data=body, content_type="application/json", base_url=LOCAL)
    assert answer.status_code == 422
    assert answer.json["error"]["message"]


@pytest.mark.parametrize("size", [0, -1, 10**29, 10**400])
def test_a_size_that_cannot_be_is_said(client, size):
    answer = client.post("/api/uploads", json={"name": "a.csv", "size": size}, base_url=LOCAL)
    assert answer.status_code == 422
    assert len(answer.json["error"]["message"]) <= MAX_SENTENCE_LENGTH


@pytest.mark.parametrize(
    "name",
    [
        "\u200b\u200b",
        ".\u200b.",
        "\u200b/..\u2060",
        "\u200b.\u200b",
        "\u200b..\u200b",
        "\ud800",
        " . ",
        "\u200b.csv",
        "x" * 70_000,
    ],
)
def test_any_name_of_a_file_becomes_one_that_a_folder_takes(client, name):
    upload = client.post("/api/uploads", json={"name": name, "size": 3}, base_url=LOCAL).json["id"]
    answer = client.put(f"/api/uploads/{upload}", data=b"a,b", base_url=LOCAL)
    assert answer.status_code == 200, answer.text[:300]
    assert answer.json["name"].strip(". ")


def test_a_body_that_breaks_off_is_said(client):
    class Broken:
        def read(self, _size=-1):
            raise ValueError("invalid chunk size")

    upload = client.post("/api/uploads", json={"name": "a.csv", "size": 3}, base_url=LOCAL).json["id"]
    environ = {"wsgi.input": Broken(), "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = client.put(f"/api/uploads/{upload}", base_url=LOCAL, environ_overrides=environ)
    assert answer.status_code == 422
    assert "again" in answer.json["error"]["hint"]
