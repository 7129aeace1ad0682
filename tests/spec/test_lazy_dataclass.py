"""A record whose methods are compiled late cannot be told from a frozen dataclass."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ptxmma.spec import lazy_dataclass


@lazy_dataclass.dataclass(frozen=True, order=True)
class Late:
    """A record."""

    row: int
    text: str = "x"
    more: Mapping[str, int] = dataclasses.field(default_factory=dict, compare=False)


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Checked:
    """A record with slots, whose values are checked."""

    row: int
    more: int = 1

    def __post_init__(self) -> None:
        if self.row < 0:
            raise ValueError("a negative row")


@dataclasses.dataclass(frozen=True, order=True)
class Soon:
    """A record."""

    row: int
    text: str = "x"
    more: Mapping[str, int] = dataclasses.field(default_factory=dict, compare=False)


def late() -> Any:
    """The class anew, with nothing compiled."""

    @lazy_dataclass.dataclass(frozen=True, order=True)
    class Soon:
        row: int
        text: str = "x"
        more: Mapping[str, int] = dataclasses.field(default_factory=dict, compare=False)

    Soon.__qualname__ = "Soon"
    return Soon


def error(call: Callable[[], object]) -> str:
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    "asked",
    [
        lambda cls: repr(cls(1)),
        lambda cls: repr(cls(row=1, text="y", more={"a": 1})),
        lambda cls: (cls(1) == cls(1), cls(1) == cls(2), cls(1) == 1, cls(1) != cls(1, more={"a": 1})),
        lambda cls: (hash(cls(1)) == hash(cls(1, more={"a": 1})), hash(cls(1)) == hash(cls(2))),
        lambda cls: sorted([cls(2), cls(1, "z"), cls(1)])[0].text,
        lambda cls: (cls(1) < cls(2), cls(1) <= cls(1), cls(1) > cls(2), cls(1) >= cls(2)),
        lambda cls: dataclasses.asdict(cls(1)),
        lambda cls: dataclasses.replace(cls(1), text="z").text,
        lambda cls: [(f.name, f.type, f.default) for f in dataclasses.fields(cls)],
        lambda cls: str(inspect.signature(cls)).replace("'", ""),
        lambda cls: cls.__match_args__,
        lambda cls: (cls.text, hasattr(cls, "more")),
        lambda cls: copy.deepcopy(cls(1, "q")).text,
        lambda cls: error(lambda: cls()),
        lambda cls: error(lambda: setattr(cls(1), "row", 2)),
        lambda cls: error(lambda: setattr(cls(1), "new", 2)),
        lambda cls: error(lambda: delattr(cls(1), "row"))[:21],
        lambda cls: error(lambda: cls(1) < 2),
        lambda cls: type("Below", (cls,), {})(3).row,
    ],
)
def test_it_is_as_the_standard_one(asked: Callable[[Any], object]) -> None:
    assert asked(late()) == asked(Soon) == asked(late())


def test_what_comes_out_of_the_cache_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pickle.dumps(Late(1))
    compiled: list[str] = []
    made = dict(lazy_dataclass._MADE)

    def counted(cls: type, name: str) -> Any:
        compiled.append(name)
        return made[name](cls, name)

    for name in made:
        monkeypatch.setitem(lazy_dataclass._MADE, name, counted)
    found = pickle.loads(packed)
    assert (found.row, found.text, compiled) == (1, "x", [])
    anew = late()
    one, other = anew(1), anew(1)
    assert one == other and one == other and hash(one) == hash(other)
    assert compiled == ["__init__", "__eq__", "__hash__"]  # each once


def test_a_record_with_slots_is_checked_and_pickled() -> None:
    found = Checked(2)
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
    assert not hasattr(found, "__dict__") and hash(found) == hash(Checked(2, 1))
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Alike:
    """Another record with the same fields."""

    row: int
    more: int = 1


def test_records_of_two_classes_have_two_hashes() -> None:
    """A dictionary that holds both would otherwise compare each with the other."""
    assert hash(Checked(7)) != hash(Alike(7)) == hash(Alike(7))
    assert len({Checked(7), Alike(7)}) == 2
