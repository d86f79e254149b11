"""What the Provisioning page shows, as its address says it: what is compared, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.pages.provisioning.own_settings import Own, of_text
from app.ui.evaluations import ALL
from app.ui.links import Query, one_of
from core.errors import InputError, NotFoundError
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.recommendation import exports
from core.settings_fields import build, describe

PATH = "/provisioning"
FIELDS = tuple(spec.name for spec in describe(EvaluationSettings))
MATCHED, PUBLISHED = "matched", "published"
RESOURCES = {"cpu": "CPU", "memory": "Memory"}
SCALES = {MATCHED: "Matched", PUBLISHED: "As published"}
SORTS = ("policy", "kind", "over", "under", "resizes", "saving")
FORMATS = {name: each.title for name, each in exports.FORMATS.items()}
"""The formats of the recommendation and their titles."""


@dataclass(frozen=True, slots=True)
class View:
    """The choices of the page; a missing or invalid parameter of the address has its default.

    Parameters
    ----------
    query
        The address itself.
    settings
        The comparison's settings that the address gives, or None where it gives none or an invalid one.
    problem
        What is wrong with the settings of the address, in two sentences, or None.
    policies
        The policies to compare, or ``("all",)``.
    own
        Settings of single policies that the address gives.
    resource, scale
        What is looked at: ``cpu`` or ``memory``, ``matched`` or ``published``.
    sort, policy, form
        The column that sorts the table, the policy that is looked at closely, and the export's format.
    """

    query: Query
    settings: EvaluationSettings | None
    problem: tuple[str, str] | None
    policies: tuple[str, ...]
    own: Own
    resource: str
    scale: str
    sort: str
    policy: str | None
    form: str

    @classmethod
    def read(cls, query: Query) -> View:
        """Read the choices of an address."""
        given = {name: query.values[name] for name in FIELDS if name in query.values}
        settings, problem, own = None, None, Own()
        try:
            settings = build(EvaluationSettings, given) if given or query.get("policies") else None
            own = of_text(query.get("own"))
        except (InputError, NotFoundError) as error:
            problem = (error.message, error.hint)
        names = tuple(name for name in (query.get("policies") or ALL).split(",") if name)
        return cls(
            query,
            settings,
            problem,
            names or (ALL,),
            own,
            one_of(query.get("resource"), RESOURCES, "cpu"),
            one_of(query.get("scale"), SCALES, MATCHED),
            one_of(query.get("sort"), SORTS, "over"),
            query.get("policy"),
            one_of(query.get("format"), FORMATS, "vpa"),
        )

    def looking_at(self, resource: str) -> View:
        """The same view of another resource."""
        return replace(self, resource=resource)

    @property
    def matched(self) -> bool:
        """Whether policies are compared at the same violation."""
        return self.scale == MATCHED
