"""A stand-in of torch for compilers that import it and run nothing: every name exists."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import re
import sys
from types import ModuleType
from typing import Any

_TYPES = re.compile(r"(u?int\d+|float\d*.*|bfloat16|half|bool|complex.*|long|short|double)$")


class Type:
    """An element type."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Anything:
    """A value that answers to every name, call and index."""

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
        return (object,)

    def __iter__(self) -> Any:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__


class Absent(ModuleType):
    """A module that is not installed."""

    __path__ = ()
    __version__ = "2.9.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found: Any = Anything()
        if name in ("Tensor", "device", "Size"):
            found = type(name, (), {})
        elif name == "dtype":
            found = Type
        elif self.__name__ == "torch" and _TYPES.match(name):
            found = Type(name)
        setattr(self, name, found)
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch and its parts."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        absent = name.split(".")[0] in ("torch", "torch_c_dlpack_ext")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if absent else None

    def create_module(self, spec: Any) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.insert(0, Finder())
