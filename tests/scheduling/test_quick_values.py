"""A value whose slots are filled directly is the value that a frozen dataclass makes, and as frozen."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace

import pytest

from core.scheduling.fast_frozen_init import fast_frozen_init


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: float = 1.5
    parts: dict[str, int] = field(default_factory=dict)


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    size: float = 1.5
    parts: dict[str, int] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("given", "named"),
    [(("a",), {}), (("a", 2.0), {}), (("a",), {"parts": {"b": 1}}), ((), {"name": "a", "size": 0.0})],
)
def test_it_is_made_like_any_dataclass(given, named):
    assert asdict(Quick(*given, **named)) == asdict(Plain(*given, **named))
    assert repr(Quick(*given, **named)) == repr(Plain(*given, **named)).replace("Plain", "Quick")


def test_each_has_its_own_default():
    assert Quick("a").parts is not Quick("b").parts


def test_it_cannot_be_changed_but_copied():
    value = Quick("a", 2.0, {"b": 1})
    with pytest.raises(FrozenInstanceError):
        value.name = "b"
    assert replace(value, name="b") == Quick("b", 2.0, {"b": 1})
    assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(("given", "named"), [((), {}), (("a", 1.0, {}, 3), {}), (("a",), {"weight": 1.0})])
def test_what_does_not_fit_is_refused_by_name(given, named):
    with pytest.raises(TypeError, match=r"Quick\.__init__\(\)"):
        Quick(*given, **named)
