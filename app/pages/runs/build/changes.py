"""What the buttons of the form do: add a part to a draft, or remove one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.scheduling.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Mapping


def changed(draft: Mapping[str, Any], act: str, place: str) -> dict[str, Any]:
    """A draft with one part added or removed."""
    made = dict(draft)
    verb, _, part = act.partition("-")
    lists: dict[str, list[Any]] = {
        "workers": groups(draft),
        "kinds": list((draft.get("kinds") or {}).items()),
        "policies": arms(draft),
    }
    if part not in lists:
        return made
    items = lists[part]
    if verb == "add":
        items.append(_new(part, draft))
    elif place.isdecimal() and int(place) < len(items):
        items.pop(int(place))
    made[part] = dict(items) if part == "kinds" else items
    return made


def _new(part: str, draft: Mapping[str, Any]) -> Any:
    if part == "workers":
        return {"id": f"worker-{chr(ord('a') + len(groups(draft)))}", "count": 1, "cores": 4.0}
    if part == "kinds":
        names = set(draft.get("kinds") or {})
        return next(f"kind-{n}" for n in range(1, 1000) if f"kind-{n}" not in names), {}
    used = {each.get("policy") for each in arms(draft)}
    return {"policy": next((name for name in POLICIES if name not in used), next(iter(POLICIES)))}


def groups(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups of machines of a draft, which a file may give as one mapping."""
    found = draft.get("workers") or []
    return [found] if isinstance(found, dict) else [each for each in found if isinstance(each, dict)]


def arms(draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The policies of a draft, which a file may give by name alone."""
    found = draft.get("policies") or []
    return [{"policy": each} if isinstance(each, str) else dict(each) for each in found]
