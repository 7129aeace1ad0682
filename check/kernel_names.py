"""Names of functions and variables as people write them: C++ names are demangled."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["demangled", "readable", "shortened", "template_of"]

_MANGLED = "_Z"
_MANGLED_NAME = re.compile(r"(?<![\w$%])_Z\w+")
_STATIC = re.compile(r"_ZZ(\w+)E(\d+)([A-Za-z_]\w*)")  # a variable of a function: the function, its name
_LONGEST = 160  # characters of a name that text shows
_CAST = re.compile(
    r"\((?:unsigned )?(?:int|long|long long|short|char|bool)\)(?=-?\w)"
)  # of a template's argument


@cache
def demangled(name: str) -> str:
    """A C++ name, of a function with its template's arguments and parameters; any other name as it is."""
    if not name.startswith(_MANGLED):
        return name
    static = _STATIC.fullmatch(name)
    if static is not None and len(static[3]) == int(static[2]):  # the library knows none of these
        return f"{demangled(_MANGLED + static[1])}::{static[3]}"
    from itanium_demangler import parse  # slow to import, and only findings need it

    try:
        found = parse(name)
    except (NotImplementedError, RecursionError):
        return name
    return name if found is None else _CAST.sub("", str(found))


def shortened(name: str) -> str:
    """The name, or its beginning where it is very long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def readable(text: str) -> str:
    """A text for persons, with every C++ name in it demangled."""
    return _MANGLED_NAME.sub(lambda found: shortened(demangled(found[0])), text)


def template_of(name: str) -> str:
    """What instances of one template have in common: the name without the template's arguments."""
    shown, depth, start = demangled(name), 0, 0
    kept: list[str] = []
    for at, letter in enumerate(shown):
        if letter == "<":
            if not depth:
                kept.append(shown[start:at])
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
            start = at + 1
        elif letter == "(" and not depth:
            return "".join([*kept, shown[start:at]])
    return "".join([*kept, shown[start:]])
