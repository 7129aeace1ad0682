"""How an assembler may change a function's wgmmas: it serialises them, or inserts a missing fence.

A serialised program computes the right result, but slowly. `assemblers/litmus_reactions.py` reads from
ptxas's words what each release does: ptxas 12.0 to 12.3 serialise a function whose registers lack a fence;
later ones insert one, some silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .findings import INFO, Finding
from .ptx.decode import DecodedFunction
from .ptx.source import PtxModule

__all__ = ["advice"]

_PENDING = frozenset(("accumulator-in-flight", "a-written-in-flight", "accumulator-as-a", "a-as-accumulator"))
_FENCES = frozenset(("register-fence", "first-fence"))
_SECTION = "9.7.15.4"


def advice(module: PtxModule, code: DecodedFunction, findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for each reaction of an assembler, at the first place that causes it."""
    function, operations = code.function, code.operations
    for statement in function.statements:
        if operations.of(statement.opcode).does == "call":
            yield Finding(
                "serialised",
                INFO,
                module.place(statement.offset),
                function.name,
                "ptxas serialises the wgmmas of a function with a call that it does not inline",
                _SECTION,
                "inline the call, or leave it out (an assertion is one)",
            )
            break
    said: set[str] = set()
    for finding in findings:
        rule = "serialised" if finding.rule in _PENDING else "repaired" if finding.rule in _FENCES else ""
        if rule and rule not in said:
            said.add(rule)
            words = {
                "serialised": "ptxas may serialise the wgmmas of this function: an ordinary instruction uses "
                "a register of one that is pending",
                "repaired": "ptxas may put in the wgmma.fence that is missing, or serialise the function",
            }[rule]
            yield Finding(rule, INFO, finding.place, function.name, words, _SECTION, finding.right)
