"""The arguments of the Python API: each is what it must be, or a sentence says what it is not."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .errors import Question, missing
from .gates import Isa

__all__ = ["asked", "described", "integer", "target_name", "text", "version_number"]

P = ParamSpec("P")
T = TypeVar("T")


def asked(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose wrong calls (an unknown keyword, a missing argument) raise Question too, and so does
    a package that is not installed.
    """

    @functools.wraps(function)
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            raise missing(error) from None
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # not the call itself: the function has begun
            raise Question(f"{error}; it is {function.__name__}({_parameters(function)})") from None

    return ask


def _parameters(function: Callable[..., object]) -> str:
    import inspect  # slow to import, and rarely needed

    return ", ".join(
        str(p.replace(annotation=p.empty)) for p in inspect.signature(function).parameters.values()
    )


def text(name: str, value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise Question(f"{name} must be a string, not {described(value)}")
    return value


def integer(name: str, value: object) -> int:
    """An integer, NumPy's too; True and False are none."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]  # what is not an integer raises TypeError
    except TypeError:
        raise Question(f"{name} must be an integer, not {described(value)}") from None


def described(value: object) -> str:
    """A value in a sentence: itself if it is short, else its type."""
    shown = repr(value)
    return shown if len(shown) < 40 and "\n" not in shown else f"a value of type {type(value).__name__}"


def version_number(name: str, value: object) -> str:
    """A PTX ISA version as a string of its two numbers."""
    if isinstance(value, float):
        raise Question(f"{name} must be a string: '{value}', not {value!r} (as a number, 9.10 would be 9.1)")
    if isinstance(value, int) and not isinstance(value, bool):
        raise Question(f"{name} must be a string such as '{value}.0', not {value!r}")
    given = text(name, value)
    if given.lower().startswith("sm_"):
        raise Question(f"{name} is {given!r}, which is a target; the version comes before the target")
    if len(given.split()) > 1 or given.endswith(";"):
        raise Question(f"{name} is {described(given)}, not a version like '8.4'; the statement comes first")
    return given


def target_name(isa: Isa, value: object) -> str:
    """A target of the specification by its name."""
    if isinstance(value, int) and not isinstance(value, bool):
        names = [name for name in isa.index.targets if re.fullmatch(rf"sm_{value}[a-z]?", name)]
        right = " or ".join(map(repr, names)) or "one such as 'sm_90a'"
        raise Question(f"target must be a string: write {right}, not {value!r}")
    given = text("target", value)
    if re.fullmatch(r"\d+\.\d+", given):
        raise Question(f"target is {given!r}, which is a version; the version comes before the target")
    return isa.target(given)
