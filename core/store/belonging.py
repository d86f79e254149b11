"""Which of several files belong together, found by trying to join their first parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import InputError
from core.store.looks import Look, look, tried
from core.traces.joining import NotJoinedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def belonging(paths: Sequence[Path]) -> tuple[list[list[Path]], list[str]]:
    """Which of some files belong together, as far as their contents show."""
    groups: list[list[Look]] = []
    alone: list[list[Path]] = []
    reasons: list[str] = []
    for path in paths:
        try:
            groups.append([look(path)])
        except InputError as error:
            alone.append([path])
            reasons.append(f"{error.message} {error.hint}")
    merged = True
    while merged:
        merged, groups, why = _merged(groups)
    single = {one[0].path.name for one in groups if len(one) == 1}
    reasons += [sentence for names, sentence in why.items() if names & single] if len(groups) > 1 else []
    return [[one.path for one in group] for group in groups] + alone, list(dict.fromkeys(reasons))


def _merged(groups: list[list[Look]]) -> tuple[bool, list[list[Look]], dict[frozenset[str], str]]:
    """Merge the first two groups that belong together; also why others do not."""
    why: dict[frozenset[str], str] = {}
    for i, first in enumerate(groups):
        for j in range(i + 1, len(groups)):
            try:
                tried([*first, *groups[j]])
            except NotJoinedError as error:
                why[frozenset(one.path.name for one in (*first, *groups[j]))] = (
                    f"{error.message} {error.hint}"
                )
            else:
                rest = [group for k, group in enumerate(groups) if k not in (i, j)]
                return True, [[*first, *groups[j]], *rest], {}
    return False, groups, why
