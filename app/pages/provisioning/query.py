"""What the Provisioning page shows, as its address says it: what is compared, and how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.pages.provisioning.policy_settings import Own, of_text
from app.ui.evaluations import USUAL
from app.ui.links import PageState, Query, option
from core.errors import InputError, NotFoundError
from core.provisioning import manifests
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.fleet import Resource
from core.provisioning.verdict.savings import PriceSettings
from core.settings_fields import build, describe

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "/provisioning"
FIELDS = tuple(spec.name for spec in describe(EvaluationSettings))
PRICES = tuple(spec.name for spec in describe(PriceSettings))
MATCHED, PUBLISHED = "matched", "published"
RESOURCES = {"cpu": "CPU", "memory": "Memory"}
SCALES = {MATCHED: "Matched", PUBLISHED: "As published"}
SORTS = ("policy", "kind", "over", "under", "resizes", "saving")
FORMATS = {name: each.title for name, each in manifests.FORMATS.items()}
"""The formats of the verdict and their titles."""
TAKEN = {"cpu": "policy", "memory": "memory_policy"}
"""The parameter of the address that says which policy is taken for a resource."""
SHOWN_BY = ("resource", "scale", "sort", "format", *TAKEN.values(), *PRICES)
"""The parameters that say how a result is looked at; all others say what was compared."""


@dataclass(frozen=True, slots=True)
class View(PageState):
    """The choices of the page."""

    #: What is looked at: ``cpu`` or ``memory``, ``matched`` or ``published``.
    resource: str = option(RESOURCES, "cpu")
    scale: str = option(SCALES, MATCHED)
    #: The column that sorts the table, and the export's format.
    sort: str = option(SORTS, "over")
    form: str = option(FORMATS, "patch", name="format")
    #: The comparison's settings that the address gives, or None where it gives none or an invalid one.
    settings: EvaluationSettings | None = None
    #: What is wrong with the settings of the address, in two sentences, or None.
    problem: tuple[str, str] | None = None
    #: The policies to compare, or ``("all",)`` or ``("usual",)``.
    policies: tuple[str, ...] = (USUAL,)
    #: Settings of single policies that the address gives.
    own: Own = field(default_factory=Own)
    #: The policies that a person chose, by resource.
    taken: Mapping[Resource, str] = field(default_factory=dict)
    #: What an hour costs.
    prices: PriceSettings = field(default_factory=PriceSettings)

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """What is compared, and the prices; the first invalid setting is the problem."""
        names = tuple(name for name in (query.get("policies") or USUAL).split(",") if name)
        found: dict[str, Any] = {
            "policies": names or (USUAL,),
            "taken": {Resource(key): name for key, each in TAKEN.items() if (name := query.get(each))},
        }
        values = {name: query.values[name] for name in FIELDS if name in query.values}
        try:
            if values or query.get("policies"):
                found["settings"] = build(EvaluationSettings, values)
            found["own"] = of_text(query.get("own"))
            found["prices"] = build(PriceSettings, {n: query.values[n] for n in PRICES if query.get(n)})
        except (InputError, NotFoundError) as error:
            found["problem"] = (error.message, error.hint)
        return found

    def looking_at(self, resource: str) -> View:
        """The same view of another resource."""
        return replace(self, resource=resource)

    def among(self, report: Mapping[str, Any]) -> View:
        """The same view without choices of policies that were not compared."""
        there = {
            Resource(resource): {row["policy"] for row in part["policies"]}
            for resource, part in report["resources"].items()
        }
        taken = {each: name for each, name in self.taken.items() if name in there.get(each, ())}
        return replace(self, taken=taken)

    @property
    def policy(self) -> str | None:
        """The policy that a person chose for the resource that is looked at."""
        return self.taken.get(Resource(self.resource))

    @property
    def takes(self) -> str:
        """The parameter of the address that chooses it."""
        return TAKEN[self.resource]

    @property
    def matched(self) -> bool:
        """Whether policies are compared at the same violation."""
        return self.scale == MATCHED
