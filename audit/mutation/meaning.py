"""What the files mean, as plain values: equal for files that say the same, wherever and however."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...spec.errors import Place
from ...spec.expressions import source
from ...spec.maps import LayoutMap
from ...spec.nodes import FileName, Formula, Scalars, Version
from .corpus import READERS, noticed_by

__all__ = ["plain"]

# Fields whose lists mean another thing in another order; every other list is a set, written in some order.
_SEQUENCES = frozenset(
    {
        "Around.after",
        "Around.before",
        "Around.written",
        "Form.operands",
        "Index.releases",
        "LitmusTest.hazards",
        "LitmusTest.program",
        "Operand.accepts",
        "Operand.elements",
        "Sparsity.codes",
    }
)


def plain(value: object) -> Any:
    """A record as lists, mappings and scalars, without places and without what only readers notice."""
    match value:
        case Formula():
            return source(value.tree)
        case Scalars():
            return list(value.values)
        case Version():
            return str(value)
        case FileName():
            return value.text
        case LayoutMap():
            return plain(value.layout)
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case tuple() | list():
            return [plain(inner) for inner in value]
    if dataclasses.is_dataclass(value):
        record = type(value).__name__
        return {
            field.name: plain(inner) if f"{record}.{field.name}" in _SEQUENCES else _unordered(plain(inner))
            for field in dataclasses.fields(value)
            if not isinstance(inner := getattr(value, field.name), Place)
            and READERS not in noticed_by(f"{record}.{field.name}")
        }
    return value


def _unordered(value: Any) -> Any:
    """A list in an order that does not depend on how it was written."""
    return sorted(value, key=repr) if isinstance(value, list) else value
