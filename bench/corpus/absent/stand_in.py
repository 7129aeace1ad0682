"""A stand-in of packages that a compiler or its kernels import, and nothing runs: every name exists.

`install("torch", …)` puts it in place of those that are not installed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import re
import sys
from types import ModuleType
from typing import Any

_TYPES = re.compile(r"(u?int\d+|float\d*.*|bfloat16|half|bool|complex.*|long|short|double)$")
_CLASSES = ("Tensor", "device", "Size", "Stream")


class Attributes(type):
    """A class of classes that have every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Base(metaclass=Attributes):
    """A base class, which is made of anything."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass


class Anything:
    """A value that answers to every name, call, index and operator."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named and callable(arguments[0]):
            return arguments[0]  # as a decorator
        return Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (Base,)

    def __iter__(self) -> Any:
        return iter(())

    def __or__(self, other: Any) -> Any:
        return Anything()

    __ror__ = __or__
    __add__ = __sub__ = __mul__ = __truediv__ = __or__

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__


class Type(Anything):
    """An element type, which tells its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Absent(ModuleType):
    """A module that is not installed."""

    __version__ = "2.9.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found: Any = Anything()
        if name in _CLASSES:
            found = Attributes(name, (Base,), {})
        elif name == "dtype":
            found = Type
        elif self.__name__ == "torch" and _TYPES.match(name):
            found = Type(name)
        setattr(self, name, found)  # tables of types are read with what they were made with
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of packages that are not installed."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        absent = name.split(".")[0] in self.packages
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if absent else None

    def create_module(self, spec: Any) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install(*packages: str) -> None:
    """Let packages be imported that are not installed."""
    sys.meta_path.append(Finder(frozenset(packages)))
