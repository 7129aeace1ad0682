"""Which witnesses the slips of a file can concern, and in which order they are asked: cheap ones first."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DEAR", "WITNESS_NAMES", "asked"]

WITNESS_NAMES = (
    *("models", "proofs", "observations", "peers", "silicon", "universes", "register", "tests"),
    "dear proofs",
)
DEAR: Mapping[str, str] = {"dear proofs": "proofs"}  # by its dear part, the witness that it belongs to
_INSTRUCTION = ("observations", "proofs", "silicon", "universes", "register", "tests", "dear proofs")
_LAYOUT = ("proofs", "peers", "silicon", "tests")
# By file or by folder; a file's own line goes before that of its folder.
_CONCERNED: Mapping[str, tuple[str, ...]] = {
    "spec/instructions": _INSTRUCTION,
    "spec/layouts": _LAYOUT,
    "spec/arithmetic": ("tests",),
    "spec/layouts/bridges.yaml": ("proofs", "tests"),
    "spec/addresses.yaml": ("proofs", "silicon", "tests"),
    "spec/descriptors.yaml": ("proofs", "peers", "tests", "silicon"),
    "spec/sparsity.yaml": ("proofs", "silicon", "tests"),
    "specs.yaml": ("tests", "observations", "proofs", "silicon", "universes", "register"),
    "contradictions.yaml": ("tests", "register"),
    "check/rules.yaml": ("tests",),
    "spec/effects.yaml": ("tests",),
    "spec/contracts.yaml": ("tests", "proofs", "dear proofs"),
    "spec/numerics.yaml": ("tests", "proofs", "dear proofs"),
    "spec/ordering/litmus.yaml": ("models", "tests"),
    "spec/ordering/phases.yaml": ("models", "tests"),
    "spec/ordering/rules.yaml": ("models", "proofs", "tests"),
    "spec/ordering/switches.yaml": ("models", "proofs", "tests"),
}


def asked(file: str) -> tuple[str, ...]:
    """The names of the witnesses that are asked about slips in a file, in order."""
    return _CONCERNED.get(file) or _CONCERNED.get(file.rpartition("/")[0], WITNESS_NAMES)
