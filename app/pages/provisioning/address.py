"""What the Provisioning page shows, as its address says it: what is compared, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from dash import html

from app.ui.basics import Node, aria, data
from core.errors import InputError
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.settings_fields import build, describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.ui.links import Query

FIELDS = tuple(spec.name for spec in describe(EvaluationSettings))
MATCHED, PUBLISHED = "matched", "published"
RESOURCES = {"cpu": "CPU", "memory": "Memory"}
SCALES = {MATCHED: "Matched", PUBLISHED: "As published"}
ALL = "all"
SORTS = ("policy", "kind", "over", "under", "resizes", "saving")
FORMATS = {
    "vpa": "Kubernetes VPA",
    "patch": "Patch",
    "docker": "docker update",
    "json": "JSON",
    "csv": "CSV",
}


@dataclass(frozen=True, slots=True)
class View:
    """The choices of the page; anything that an address says wrongly has its default.

    Parameters
    ----------
    query
        The address itself.
    settings
        The comparison's settings that the address gives, or None where it gives none or a wrong one.
    problem
        What is wrong with the settings of the address, in two sentences, or None.
    policies
        The policies to compare, or ``("all",)``.
    resource, scale
        What is looked at: ``cpu`` or ``memory``, ``matched`` or ``published``.
    sort, policy, form
        The column that sorts the table, the policy that is looked at closely, and the export's format.
    """

    query: Query
    settings: EvaluationSettings | None
    problem: tuple[str, str] | None
    policies: tuple[str, ...]
    resource: str
    scale: str
    sort: str
    policy: str | None
    form: str

    @classmethod
    def read(cls, query: Query) -> View:
        """Read the choices of an address."""
        given = {name: query.values[name] for name in FIELDS if name in query.values}
        settings, problem = None, None
        try:
            settings = build(EvaluationSettings, given) if given or query.get("policies") else None
        except InputError as error:
            problem = (error.message, error.hint)
        names = tuple(name for name in (query.get("policies") or ALL).split(",") if name)
        return cls(
            query,
            settings,
            problem,
            names or (ALL,),
            _one_of(query.get("resource"), RESOURCES, "cpu"),
            _one_of(query.get("scale"), SCALES, MATCHED),
            _one_of(query.get("sort"), SORTS, "over"),
            query.get("policy"),
            _one_of(query.get("format"), FORMATS, "vpa"),
        )

    def looking_at(self, resource: str) -> View:
        """The same view of another resource."""
        return replace(self, resource=resource)

    @property
    def matched(self) -> bool:
        """Whether policies are compared at the same violation."""
        return self.scale == MATCHED


def link(label: Node, href: str, **more: Any) -> html.A:
    """A link to another view of this page; the page keeps its scroll (``assets/provisioning.js``)."""
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


def _one_of(value: str | None, known: Any, otherwise: str) -> str:
    return value if value is not None and value in known else otherwise


def address_values(settings: EvaluationSettings, policies: tuple[str, ...]) -> dict[str, str | None]:
    """The comparison as parameters of an address; what has its default is left out, but for the cycle."""
    values: dict[str, str | None] = {}
    for spec in describe(EvaluationSettings):
        value = getattr(settings, spec.name)
        kept = value != spec.default or spec.name == "cycle"
        values[spec.name] = (f"{value:g}" if isinstance(value, float) else str(value)) if kept else None
    return values | {"policies": None if policies == (ALL,) else ",".join(policies)}
