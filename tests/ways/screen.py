"""A browser without a screen: loads pages, holds their components, and asks Dash's callbacks over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

BASE = "http://127.0.0.1"
PLACE, CONTENT = "_pages_location", "_pages_content"


class Screen:
    """What one window of a browser shows."""

    def __init__(self, server: Flask) -> None:
        self.http = server.test_client()
        self.parts: dict[str, dict[str, Any]] = {}
        self._callbacks = [
            each for each in self.get("/_dash-dependencies") if not each.get("clientside_function")
        ]
        self._keep(self.get("/_dash-layout"))

    def get(self, address: str) -> Any:
        """The JSON that an address answers with."""
        answer = self.http.get(address, base_url=BASE)
        assert answer.status_code == 200, answer.data
        return json.loads(answer.data)

    def go(self, path: str, search: str = "") -> None:
        """Open a page, and call what is called when it appears."""
        self.appear(self.open(path, search))

    def open(self, path: str, search: str = "") -> set[str]:
        """Have a page laid out; the components that are new with it."""
        self.parts[PLACE] |= {"pathname": path, "search": search}
        before = set(self.parts)
        (router,) = [each for each in self._callbacks if f"{CONTENT}.children" in each["output"]]
        self._ask(router, [f"{PLACE}.pathname"])
        return set(self.parts) - before

    def appear(self, new: set[str]) -> None:
        """Ask the callbacks that are called because components appear."""
        for each in self._callbacks:
            if not each["prevent_initial_call"] and (wakes := self._wakes(each, new)):
                self._ask(each, wakes)

    def set(self, part: str, name: str, value: Any) -> None:
        """Change a property of a component, as a person does; whatever depends on it follows."""
        self.parts[part][name] = value
        for each in self._callbacks:
            if {"id": part, "property": name} in each["inputs"]:
                self._ask(each, [f"{part}.{name}"])

    @property
    def place(self) -> str:
        """The part of the address after the path."""
        return str(self.parts[PLACE]["search"])

    def _wakes(self, callback: dict[str, Any], new: set[str]) -> list[str]:
        outputs = _named(callback["output"])
        if not all(self._matching(one) for one, _ in outputs):
            return []
        return [
            f"{part}.{one['property']}"
            for one in callback["inputs"]
            for part in self._matching(one["id"])
            if part in new
        ]

    def _matching(self, asked: str) -> list[str]:
        """The components of an id, or of a pattern of ids."""
        if not asked.startswith("{"):
            return [asked] if asked in self.parts else []
        wanted = json.loads(asked)
        ids = [(part, json.loads(part)) for part in self.parts if part.startswith("{")]
        return [
            part
            for part, own in ids
            if own.keys() == wanted.keys()
            and all(value in (["ALL"], ["MATCH"]) or own[key] == value for key, value in wanted.items())
        ]

    def _values(self, asked: dict[str, str]) -> Any:
        found = [
            {
                "id": json.loads(part) if part.startswith("{") else part,
                "property": asked["property"],
                "value": self.parts[part].get(asked["property"]),
            }
            for part in self._matching(asked["id"])
        ]
        if '["ALL"]' in asked["id"]:
            return found
        return found[0] if found else {"id": asked["id"], "property": asked["property"]}

    def _ask(self, callback: dict[str, Any], changed: list[str]) -> None:
        output = callback["output"]
        outputs = [self._values({"id": one, "property": name}) for one, name in _named(output)]
        body = {
            "output": output,
            "outputs": outputs if output.startswith("..") else outputs[0],
            "inputs": [self._values(one) for one in callback["inputs"]],
            "state": [self._values(one) for one in callback["state"]],
            "changedPropIds": changed,
        }
        answer = self.http.post("/_dash-update-component", json=body, base_url=BASE)
        assert answer.status_code in (200, 204), (output, answer.data[-2000:])
        if answer.status_code == 200:
            made = json.loads(answer.data)
            for part, values in (*made.get("response", {}).items(), *made.get("sideUpdate", {}).items()):
                self.parts.setdefault(part, {}).update(values)
                self._keep(values)

    def _keep(self, made: Any) -> None:
        for props in _components(made):
            part = props["id"]
            name = part if isinstance(part, str) else json.dumps(part, sort_keys=True, separators=(",", ":"))
            self.parts[name] = props


def _components(made: Any) -> Iterator[dict[str, Any]]:
    """The properties of all components that have an id, at any depth."""
    if isinstance(made, dict):
        props = made.get("props")
        if isinstance(props, dict) and "id" in props:
            yield props
        for each in made.values():
            yield from _components(each)
    elif isinstance(made, list):
        for each in made:
            yield from _components(each)


def _named(output: str) -> list[tuple[str, str]]:
    """The ids and properties of a callback's outputs, from its name."""
    names = output[2:-2].split("...") if output.startswith("..") else [output]
    pairs = [name.rpartition(".") for name in names]
    return [(part, name.split("@")[0]) for part, _, name in pairs]
