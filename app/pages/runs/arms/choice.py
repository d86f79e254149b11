"""Which policies are drawn, against which baseline, and which is in the accent, as an address says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from app.figures.runs.arm_lines import arm_styles
from app.pages.runs import stored
from core.experiments.leaderboard import shared_seeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.figures.runs.arm_lines import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.stored import Side
    from core.runs.values import ExperimentInfo

MOST_DRAWN = 8
_FEW = 6
_APART = "|"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The policies of an experiment."""

    #: All that have been run, in the experiment's order.
    sides: tuple[Side, ...]
    #: The one that the others are compared with.
    base: Side
    #: Those in the figures, in order, and how each looks.
    drawn: tuple[Side, ...]
    styles: tuple[ArmStyle, ...]
    #: The seeds that all of them have.
    seeds: tuple[int, ...]


def compares_all(info: ExperimentInfo, view: View) -> bool:
    """Whether the page shows all policies: unless two are named, or there are only two."""
    if view.show is not None:
        return view.show == "all"
    return view.a is None and view.b is None and len(info.experiment.policies) > 2


def chosen(info: ExperimentInfo, view: View) -> Chosen:
    """What an address asks for; what it does not say is chosen for it."""
    own = stored.sides(info)
    ran = [side for side in own.values() if side.runs] or list(own.values())
    base = own.get(view.base or "") or own[info.experiment.baseline]
    if base not in ran:
        base = ran[0]
    wanted = [own[key] for key in parsed(view.arms) if key in own and own[key] in ran]
    drawn = (wanted or _usual(ran, base))[:MOST_DRAWN]
    lit = own.get(view.lit or "")
    others = [side for side in drawn if side is not base]
    last = lit if lit in drawn else others[-1] if others else None
    styles = arm_styles(
        [side.title for side in drawn], _place(drawn, base), _place(drawn, last) if last is not None else -1
    )
    seeds = shared_seeds({side.key: side.runs for side in ran})
    return Chosen(tuple(ran), base, tuple(drawn), tuple(styles), tuple(seeds))


def _usual(ran: Sequence[Side], base: Side) -> list[Side]:
    """The first ones, the baseline and the last: files name the usual policies first, and ours at the end."""
    if len(ran) <= _FEW:
        return list(ran)
    picked = {base.key, *(side.key for side in ran[: _FEW - 1]), ran[-1].key}
    return [side for side in ran if side.key in picked]


def _place(drawn: Sequence[Side], side: Side) -> int:
    return next((at for at, each in enumerate(drawn) if each.key == side.key), -1)


def parsed(text: str | None) -> list[str]:
    """The keys that an address names."""
    return [unquote(each) for each in (text or "").split(_APART) if each]


def named(keys: Iterable[str]) -> str:
    """Keys as an address names them."""
    return _APART.join(key.replace("%", "%25").replace(_APART, "%7C") for key in keys)


def toggled(found: Chosen, side: Side) -> str | None:
    """The keys of the drawn policies with one more or one fewer; None where that is not possible."""
    keys = [each.key for each in found.drawn]
    if side.key in keys:
        return named(key for key in keys if key != side.key) if len(keys) > 1 else None
    if len(keys) >= MOST_DRAWN:
        return None
    order = [each.key for each in found.sides if each.key in (*keys, side.key)]
    return named(order)
