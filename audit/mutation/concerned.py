"""Which witnesses the slips of a file can concern, and in which order they are asked: cheap ones first."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["WITNESS_NAMES", "asked"]

WITNESS_NAMES = ("models", "proofs", "observations", "silicon", "universes", "register", "tests")
_CONCERNED: Mapping[str, tuple[str, ...]] = {
    "check/rules.yaml": ("tests",),
    "spec/effects.yaml": ("tests",),
    "spec/contracts.yaml": ("tests", "proofs"),
    "spec/numerics.yaml": ("tests", "proofs"),
    "spec/ordering/litmus.yaml": ("models", "tests"),
    "spec/ordering/rules.yaml": ("models", "proofs", "tests"),
    "spec/ordering/switches.yaml": ("models", "proofs", "tests"),
}


def asked(file: str) -> tuple[str, ...]:
    """The names of the witnesses that are asked about slips in a file, in order."""
    return _CONCERNED.get(file, WITNESS_NAMES)
