"""Names of functions as people write them: C++ names are demangled."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["demangled", "template_of"]

_MANGLED = "_Z"
_CAST = re.compile(
    r"\((?:unsigned )?(?:int|long|long long|short|char|bool)\)(?=-?\w)"
)  # of a template's argument


@cache
def demangled(name: str) -> str:
    """A C++ function's name with its template's arguments and parameters; any other name as it is."""
    if not name.startswith(_MANGLED):
        return name
    from itanium_demangler import parse  # slow to import, and only findings need it

    try:
        found = parse(name)
    except (NotImplementedError, RecursionError):
        return name
    return name if found is None else _CAST.sub("", str(found))


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
