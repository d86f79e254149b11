"""Addresses of the page that is open: everything chosen is in them, and a link changes a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlencode

from dash import html

from app.ui.basics import Node, aria, data

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclass(frozen=True, slots=True)
class Query:
    """A page's path and the parameters of its address."""

    path: str
    values: Mapping[str, str]

    @classmethod
    def parse(cls, path: str, search: str | None) -> Query:
        """Read the parameters of an address's search part."""
        return cls(path, dict(parse_qsl((search or "").lstrip("?"))))

    def get(self, name: str) -> str | None:
        """A parameter, or None where the address does not have it."""
        return self.values.get(name) or None

    def search(self, **changes: object) -> str:
        """The search part with some parameters changed; those that become None are left out."""
        merged: dict[str, object] = {**self.values, **changes}
        return urlencode({key: value for key, value in merged.items() if value not in (None, "")})

    def __call__(self, **changes: object) -> str:
        """The address with some parameters changed."""
        search = self.search(**changes)
        return f"{self.path}?{search}" if search else self.path

    def only(self, *names: str, **more: object) -> str:
        """The address with only these parameters of the present one, and more."""
        kept = {name: self.values[name] for name in names if name in self.values}
        return Query(self.path, kept)(**more)


def one_of(value: str | None, known: Collection[str], otherwise: str) -> str:
    """A choice that an address makes, or `otherwise` where it makes none or an unknown one."""
    return value if value is not None and value in known else otherwise


def link(label: Node, href: str, **more: Any) -> html.A:
    """A link to another view of this page; the page keeps its scroll (``provisioning.js``)."""
    return html.A(label, href=href, **data(stay="true"), **more)


class Addressed(Protocol):
    """A view of a page that knows its address."""

    @property
    def query(self) -> Query:
        """The address."""


def segments(view: Addressed, name: str, options: Mapping[str, str], chosen: str, label: str) -> html.Nav:
    """A choice of a few views, the chosen one marked; the first one needs nothing in the address."""
    first = next(iter(options))
    links = [
        link(
            title,
            view.query(**{name: None if key == first else key}),
            className="on" if key == chosen else "",
            **(aria(current="true") if key == chosen else {}),
        )
        for key, title in options.items()
    ]
    return html.Nav(links, className="seg", **aria(label=label))
