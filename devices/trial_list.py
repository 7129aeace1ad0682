"""Which trials there are: one kernel for each set of fields that differ in more than N."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..gen.kernels.kernel_list import neutral, raw_kernels
from ..gen.kernels.opaque import global_kernel
from ..spec.arithmetic import arithmetic_of, codes_on
from ..spec.errors import Question
from ..spec.nodes import Version
from ..spec.parts import computes
from ..spec.specification import Specification
from ..spec.variants import Variant
from .trial import Trial

__all__ = ["trial_of", "trials_of"]

_WIDTH = "n"  # the field in which variants may differ and still be one trial


def trials_of(
    specification: Specification,
    variants: Iterable[Variant],
    target: str,
    newest: Version | None,
    invalid: bool = False,
) -> tuple[list[Trial], dict[str, str]]:
    """The trials of some variants, and by mnemonic why there is none; `newest` is what a driver reads.

    With `invalid`, trials of what metadata codes do that the text calls invalid: of sparse variants alone.
    """
    trials: list[Trial] = []
    why: dict[str, str] = {}
    for variant in _distinct(v for v in variants if v.row.row.sparsity or not invalid):
        since = dict(variant.gate.targets)[target]
        if newest is not None and since > newest:
            why[variant.mnemonic] = f"it needs PTX ISA {since}; the driver reads {newest}"
            continue
        try:
            trials.append(trial_of(specification, variant, target, invalid))
        except Question as reason:
            why[variant.mnemonic] = str(reason)
    return trials, why


def trial_of(specification: Specification, variant: Variant, target: str, invalid: bool = False) -> Trial:
    """The trial of one variant; raises Question where there is none."""
    known = arithmetic_of(variant, target)
    if variant.instruction.fragments:
        kernel = global_kernel(specification, variant, target)
    else:
        kernel = next(kernel for kernel in raw_kernels([variant]) if neutral(kernel))
    codes = codes_on(variant, target) if invalid else None
    trial = Trial(specification, kernel, known, codes)
    trial.sums  # noqa: B018 - raises Question for a fragment that is opaque
    return trial


def _distinct(variants: Iterable[Variant]) -> Iterator[Variant]:
    """The variants that compute, the narrowest of those that differ in N alone."""
    found: dict[tuple[object, ...], Variant] = {}
    for variant in variants:
        if not computes(variant.instruction):
            continue
        rest = tuple((name, value) for name, value in variant.fields.items() if name != _WIDTH)
        key = (variant.row.id, *rest)
        known = found.get(key)
        if known is None or int(variant.fields[_WIDTH]) < int(known.fields[_WIDTH]):
            found[key] = variant
    yield from found.values()
