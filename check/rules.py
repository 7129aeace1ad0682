"""The rules that `ptxmma check` names besides reasons of legality. Suppressions and clauses refer to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..spec.api import load
from ..spec.model import Instruction
from ..spec.ordering import ordering

__all__ = ["rules", "rules_of"]

_OWN = {
    "aligned-divergent": "an .aligned instruction that not all threads execute",
    "aligned-exited": "an .aligned instruction after threads have exited",
    "aligned-unknown": "an .aligned instruction that perhaps not all threads execute",
    "descriptor-alignment": "a matrix descriptor whose matrix does not begin at a multiple of 16 bytes",
    "descriptor-divergent": "a matrix descriptor that is not the same in all warps of the warpgroup",
    "descriptor-field": "a matrix descriptor with a field that no matrix has",
    "idle-suppression": "a comment that suppresses nothing",
    "matrix-alignment": "a row of ldmatrix or stmatrix that does not begin at a multiple of 16 bytes",
    "matrix-lanes": "an ldmatrix for sm_75, to which every lane must give a valid address",
    "matrix-space": "an address of ldmatrix or stmatrix that does not lie in shared memory",
    "metadata-code": "sparsity metadata that names no two distinct elements, or not in order",
    "redundant-fence": "a wgmma.fence that orders nothing",
    "redundant-wait": "a wgmma.wait_group that waits for nothing",
    "repaired": "a wgmma.fence is missing that ptxas may put in",
    "serialised": "wgmmas that ptxas may serialise",
    "wmma-divergent": "an address or stride of wmma that is not the same in all threads of the warp",
    "wmma-fragment": "a wmma fragment that is used otherwise than it was made",
}


@cache
def rules() -> Mapping[str, str]:
    """Every rule with its title: those of ordering, and the checker's own."""
    return {**{name: rule.title for name, rule in ordering().rules.items()}, **_OWN}


def rules_of(instruction: Instruction | None) -> frozenset[str]:
    """The rules that the clauses of an instruction's execution contract name."""
    return _rules_of(instruction.execution) if instruction else frozenset()


@cache
def _rules_of(execution: tuple[str, ...]) -> frozenset[str]:
    clauses = load().clauses
    return frozenset(
        consumer.check for clause in execution for consumer in clauses[clause].consumers if consumer.check
    )
