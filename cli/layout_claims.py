"""`ptxmma prove --claims FILE`: layouts as other codebases write them, held against the specification.

The file is a JSON list. Each claim has a `mnemonic`, an `operand`, and `linear` (Triton: #ttg.linear) or
`cute` with the text of the layout; `selectors` where the operand has some.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..gen.pictures import cute, linear_layout
from ..gen.pictures.tables import MapTable, table_of
from ..spec.api import find, load
from ..spec.errors import Question
from ..spec.quantities import counted

__all__ = ["prove_claims"]

# How a text of each kind is read and compared: the first place at which the two differ.
_KINDS: Mapping[str, Callable[[MapTable, str], str | None]] = {
    "linear": lambda table, text: linear_layout.first_difference(
        table, linear_layout.read_linear_layout(text)
    ),
    "cute": lambda table, text: cute.first_difference(table, cute.read_cute(text)),
}


def prove_claims(path: str, form: str) -> int:
    """Print what holds; exit code 1 where one does not."""
    records = [_record(claim, number) for number, claim in enumerate(_claims(path), 1)]
    wrong = sum(record["differs"] is not None for record in records)
    if form == "json":
        print(json.dumps(records, indent=1))
        return 1 if wrong else 0
    for record in records:
        said = record["differs"] or f"equal at all {record['points']} points"
        print(
            f"{'WRONG' if record['differs'] else 'ok':<5} {record['operand']} of {record['mnemonic']}: {said}"
        )
    print(f"{counted(len(records), 'claim')}, {wrong} not equal to the specification")
    return 1 if wrong else 0


def _claims(path: str) -> list[Any]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise Question(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise Question(f"{path} nests brackets too deeply for a list of claims") from None
    except UnicodeDecodeError:
        raise Question(f"{path} is not text") from None
    except OSError as error:
        raise Question(f"{path}: {error.strerror or error}") from None
    if not isinstance(found, list) or not found:
        raise Question(f"{path} holds no list of claims")
    return found


def _record(claim: Any, number: int) -> dict[str, Any]:
    """One claim, and where it differs; raises Question where it is none."""
    kinds = [kind for kind in _KINDS if isinstance(claim, dict) and isinstance(claim.get(kind), str)]
    words = ("mnemonic", "operand")
    if len(kinds) != 1 or not all(isinstance(claim.get(word), str) for word in words):
        raise Question(f"claim {number} needs the texts mnemonic, operand, and one of {', '.join(_KINDS)}")
    selectors = claim.get("selectors", {})
    if not isinstance(selectors, dict) or not all(type(value) is int for value in selectors.values()):
        raise Question(f"claim {number}: selectors are numbers by name")
    try:
        table = table_of(load(), find(claim["mnemonic"]), claim["operand"], None, selectors)
        differs = _KINDS[kinds[0]](table, claim[kinds[0]])
    except Question as error:
        raise Question(f"claim {number}: {error}") from None
    return {
        "mnemonic": claim["mnemonic"],
        "operand": claim["operand"],
        "kind": kinds[0],
        "points": len(table.entries),
        "differs": differs,
    }
