"""What executions are called in several files: by their own names, by their pods, or by their files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from core.traces.model import Role
from core.traces.validation import problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.traces.joining.stacks import Part, Stack
    from core.traces.validation import Problem

_WORDS = {
    Role.CPU: "cpus?",
    Role.MEMORY: "mem(?:ory)?|ram|rss",
    Role.GPU: "gpus?",
    Role.NETWORK_IN: "net(?:work)?",
    Role.BLOCK_IN: "disk|block|io",
}
_ALIKE = {
    **dict.fromkeys((Role.CPU, Role.CPU_LIMIT), Role.CPU),
    **dict.fromkeys((Role.MEMORY, Role.MEMORY_LIMIT), Role.MEMORY),
    **dict.fromkeys((Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER), Role.GPU),
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT), Role.NETWORK_IN),
    **dict.fromkeys((Role.BLOCK_IN, Role.BLOCK_OUT), Role.BLOCK_IN),
}
_ANY = "usage|used|util(?:i[sz]ation)?|cores?|bytes|percent|metrics?|stats?|data|export"
_ENDING = re.compile(r"(\.\w{1,7})+$")


def stem(file: str) -> str:
    """A file's name without its endings."""
    return _ENDING.sub("", file) or file


def bare(file: str, roles: Iterable[Role] = ()) -> str:
    """What a file's name says beside what it measures: ``train-1`` of ``cpu_train-1.csv``."""
    known = {_ALIKE[role] for role in roles if role in _ALIKE} or set(_WORDS)
    metric = "|".join([_ANY, *(_WORDS[role] for role in sorted(known))])
    text = re.sub(rf"(?i)(?<![a-z])(?:{metric})(?![a-z])", "", stem(file))
    return re.sub(r"[\s_.-]{2,}", "-", text).strip(" _.-")


def _bare(part: Part) -> str:
    return bare(part.file, [feature.role for feature in part.traces.features])


def renamed(parts: Sequence[Part]) -> tuple[list[Part], list[Problem]]:
    """Name the executions of files that name none."""
    unnamed = [part for part in parts if part.unnamed]
    shapes = {frozenset(feature.name for feature in part.traces.features) for part in parts}
    if not unnamed or len(shapes) == 1:
        return list(parts), []
    names = _bare_names(unnamed)
    whole = " + ".join(stem(part.file) for part in unnamed)
    made = [
        replace(part, traces=replace(part.traces, ids=(names[part.file] or whole,))) if part.unnamed else part
        for part in parts
    ]
    shared = Counter(names.values())
    said = [
        problem(
            "named_by_files",
            f"{', '.join(part.file for part in unnamed if names[part.file] == name)} name no execution and "
            f"were taken for one, “{name or whole}”.",
            count=count,
        )
        for name, count in shared.items()
        if count > 1
    ]
    return made, said


def _bare_names(parts: Sequence[Part]) -> dict[str, str]:
    """The names of files without what they measure, unless files with the same columns would share one."""
    names = {part.file: _bare(part) for part in parts}
    taken = Counter(
        (names[part.file], frozenset(feature.name for feature in part.traces.features)) for part in parts
    )
    return names if max(taken.values()) == 1 else {part.file: stem(part.file) for part in parts}


def same_pods(stacks: Sequence[Stack]) -> tuple[list[Stack], list[Problem]]:
    """Let an execution that is known by its pod alone be that pod's only container in the first stack."""
    first, made = stacks[0], [stacks[0]]
    said: list[Problem] = []
    for stack in stacks[1:]:
        strangers = set(stack.traces.ids) - set(first.traces.ids)
        other = {
            name: _container(name, first.traces.ids, stack.traces.ids) if name in strangers else name
            for name in stack.traces.ids
        }
        changed = [name for name, new in other.items() if new != name]
        if changed and len(set(other.values())) == len(other):
            message = (
                f"{stack.name}: {plural(len(changed), 'execution')} known by pod alone, the first of them "
                f"“{changed[0]}”, taken for “{other[changed[0]]}”."
            )
            said.append(problem("named_by_pods", message, count=len(changed)))
            stack = replace(stack, traces=replace(stack.traces, ids=tuple(other.values())))  # noqa: PLW2901
        made.append(stack)
    return made, said


def _container(name: str, known: Sequence[str], own: Sequence[str]) -> str:
    """The one known execution that is the same pod, or the name itself."""
    pod = name.partition("/")[0]
    found = [one for one in known if one.partition("/")[0] == pod and ("/" in one) != ("/" in name)]
    alone = sum(one.partition("/")[0] == pod for one in own) == 1
    return found[0] if len(found) == 1 and alone else name
