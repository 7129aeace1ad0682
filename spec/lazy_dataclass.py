"""`dataclass` for frozen records whose methods are compiled when they are first called.

The standard one compiles six methods for every class, which took a third of a short command's time. Most
records of the specification come out of the cache, and nobody calls a method of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_NONE: dict[str, Any] = {"init": False, "repr": False, "eq": False}
# By method: what the standard decorator is told to make that one.
_ASKED: Mapping[str, dict[str, Any]] = {
    "__init__": {"init": True, "frozen": True},
    "__repr__": {"repr": True},
    "__eq__": {"eq": True},
    "__hash__": {"unsafe_hash": True},
    **{name: {"eq": True, "order": True} for name in ("__lt__", "__le__", "__gt__", "__ge__")},
}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, order: bool = False) -> Any:
        """As dataclasses.dataclass, for records that are frozen and have no __post_init__."""
        assert frozen
        return lambda cls: _postpone(cls, order)


def _postpone(cls: type, order: bool) -> type:
    assert not hasattr(cls, "__post_init__")
    dataclasses.dataclass(**_NONE)(cls)  # fields and defaults
    for name, asked in _ASKED.items():
        if name not in cls.__dict__ and (order or "order" not in asked):
            setattr(cls, name, _Postponed(cls, name))
    cls.__setattr__ = cls.__delattr__ = _refuse  # type: ignore[assignment, method-assign]
    return cls


class _Postponed:
    """A method of a class that is not compiled yet. The compiled one takes its place in one step, so that
    another thread finds either.
    """

    def __init__(self, cls: type, name: str) -> None:
        self.cls = cls
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        fields = [(field.name, field.type, field) for field in dataclasses.fields(self.cls)]
        twin = dataclasses.make_dataclass(self.cls.__name__, fields, **{**_NONE, **_ASKED[self.name]})
        setattr(self.cls, self.name, vars(twin)[self.name])
        return getattr(owner if instance is None else instance, self.name)


def _refuse(_: object, name: str, *__: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
