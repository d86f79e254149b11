"""Addresses of the open page, which have all its choices; a link changes a part of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from dash import html

from app.ui.basics import Node, aria, data

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Self


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
        values = {name: self.values[name] for name in names if name in self.values}
        return Query(self.path, values)(**more)


# What a page shows is a value that its address says: a frozen dataclass over `PageState` with a field for
# each parameter. A parameter that is missing, unknown or of the wrong form has the field's default, so any
# address shows something.


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page in its address."""

    #: The address itself, whose changes are the page's links.
    query: Query

    @classmethod
    def read(cls, query: Query) -> Self:
        """Read the state from an address."""
        query = cls.upgrade(query)
        values = {
            each.name: each.metadata["read"](query.get(each.metadata["parameter"] or each.name))
            for each in fields(cls)
            if "read" in each.metadata
        }
        return cls(query, **(values | cls.derive(query)))

    @classmethod
    def upgrade(cls, query: Query) -> Query:
        """Convert an address of an earlier release."""
        return query

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The fields that depend on several parameters or on what is stored."""
        del query
        return {}


def parameter(read: Callable[[str | None], Any], name: str = "") -> Any:
    """A field read from a parameter of the address; `name` is the field's name by default."""
    return field(default=read(None), metadata={"read": read, "parameter": name})


def free_text(default: str | None = None, name: str = "") -> Any:
    """A field of free text."""
    return parameter(lambda value: value or default, name)


def option(options: Collection[str], default: str | None = None, name: str = "") -> Any:
    """A field that is one of some texts."""
    return parameter(lambda value: value if value is not None and value in options else default, name)


def whole_number(default: int | None = None) -> Any:
    """A field that is a whole number from 0 on."""

    def read(value: str | None) -> int | None:
        return int(value) if value is not None and value.isdecimal() and len(value) < 12 else default

    return parameter(read)


def link(label: Node, href: str, **more: Any) -> html.A:
    """A link to another view of this page; the page keeps its scroll (``provisioning.js``)."""
    return html.A(label, href=href, **data(stay="true"), **more)


def segments(view: PageState, name: str, options: Mapping[str, str], chosen: str, label: str) -> html.Nav:
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
