"""`dataclass` for frozen records whose methods are compiled when they are first called.

The standard one compiles six methods for every class, which took a third of a short command's time. Most
records of the specification come out of the cache, and nobody calls a method of them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from zlib import crc32

__all__ = ["dataclass"]

_NONE: dict[str, Any] = {"init": False, "repr": False, "eq": False}


class _LeftOut:
    """Stands for an argument whose default is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


_LEFT_OUT = _LeftOut()

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, order: bool = False, slots: bool = False) -> Any:
        """As dataclasses.dataclass, for records that are frozen."""
        assert frozen
        return lambda cls: _postpone(cls, order, slots)


def _postpone(cls: type, order: bool, slots: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the signature is looked up for it, which takes long
    cls = dataclasses.dataclass(**_NONE, slots=slots)(cls)  # fields and defaults
    if slots:
        for name, method in (("__getstate__", _state), ("__setstate__", _restore)):
            setattr(cls, name, method)
    for name in (*_MADE, *(_ORDER if order else ())):
        if name not in cls.__dict__:
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
        method = _MADE.get(self.name, _ordered)(self.cls, self.name)
        setattr(self.cls, self.name, method)
        return method.__get__(instance, owner)


def _repr(cls: type, name: str) -> Any:
    """The method as the standard decorator makes it: it makes a whole class for it."""
    fields = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
    twin = dataclasses.make_dataclass(cls.__name__, fields, **{**_NONE, "repr": True})
    return vars(twin)[name]


def _init(cls: type, name: str) -> Any:
    """The method that takes the fields by their order or name."""
    fields = dataclasses.fields(cls)
    assert all(field.init and not field.kw_only for field in fields)
    names: dict[str, Any] = {"set_": object.__setattr__, "left_out": _LEFT_OUT}
    taken, body = ["self"], ["pass"]
    for at, field in enumerate(fields):
        value, default = field.name, ""
        if field.default_factory is not dataclasses.MISSING:
            names[f"made_{at}"], default = field.default_factory, "=left_out"
            value = f"made_{at}() if {field.name} is left_out else {field.name}"
        elif field.default is not dataclasses.MISSING:
            names[f"default_{at}"], default = field.default, f"=default_{at}"
        taken.append(field.name + default)
        body.append(f"set_(self, {field.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    made: dict[str, Any] = {}
    exec(f"def {name}({', '.join(taken)}):\n " + "\n ".join(body), names, made)
    function = made[name]
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    function.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return function


def _values(cls: type, which: str) -> Callable[[Any], tuple[object, ...]]:
    """What gives the values of the fields that count for `compare` or for `hash`."""
    names = [
        field.name
        for field in dataclasses.fields(cls)
        if (field.compare if which == "compare" or field.hash is None else field.hash)
    ]
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda record: tuple([getattr(record, name) for name in names])


def _eq(cls: type, _: str) -> Any:
    values = _values(cls, "compare")

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _ordered(cls: type, name: str) -> Any:
    """The comparison of that name."""
    values, compare = _values(cls, "compare"), _ORDER[name]

    def ordered(self: Any, other: object) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return ordered


def _hash(cls: type, _: str) -> Any:
    """Records of two classes with the same values have two hashes: dictionaries hold both kinds."""
    values, own = _values(cls, "hash"), crc32(cls.__qualname__.encode())
    return lambda self: hash(values(self)) ^ own


_MADE: dict[str, Callable[[type, str], Any]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
}
_ORDER: Mapping[str, Callable[[Any, Any], Any]] = {
    f"__{compare.__name__}__": compare for compare in (operator.lt, operator.le, operator.gt, operator.ge)
}


def _state(record: Any) -> list[Any]:
    """What a record without a __dict__ is pickled as."""
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def _restore(record: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(record), state, strict=True):
        object.__setattr__(record, field.name, value)


def _refuse(_: object, name: str, *__: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
