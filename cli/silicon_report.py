"""What a device showed, as rows of tables: measurements by instruction, and the arithmetic of products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..check.arithmetic import Dot, Summary, summary
from ..check.observations import Observed
from ..check.silicon import judge
from ..formal.plans import arithmetic
from ..gen.kernels import Kernel
from ..spec.loading import Specification
from ..spec.variants import Variant

__all__ = ["arithmetic_table", "measured_table"]


def _variants(specification: Specification) -> dict[str, Variant]:
    families = specification.families.values()
    return {variant.mnemonic: variant for family in families for variant in family.variants()}


def measured_table(
    specification: Specification, subjects: Mapping[str, Observed]
) -> list[tuple[str, int, int, int, tuple[str, ...]]]:
    """By what was measured of which instruction: kernels, points, how many agree, the first that differ."""
    known = _variants(specification)
    found: dict[str, tuple[int, int, int, tuple[str, ...]]] = {}
    for name, observed in subjects.items():
        variant = known[observed.kernel.split()[0]]
        what = f"{name.split(': ')[0]}: {variant.row.family.instruction.instruction}"
        points, faults = judge(specification, variant, name.split(": ")[0], observed.kernel, observed.values)
        kernels, all_points, agree, first = found.get(what, (0, 0, 0, ()))
        shown = (*first, *(f"{observed.kernel}: {fault}" for fault in faults[:2]))
        found[what] = kernels + 1, all_points + points, agree + points - len(faults), shown
    return [(what, *rest) for what, rest in found.items()]


def _dot(specification: Specification, variant: Variant, kernel: str) -> Dot:
    """The products of a recorded kernel; nothing is launched."""
    form, *settings = kernel.split()[1:] if len(variant.row.row.forms) > 1 else ["", *kernel.split()[1:]]
    values = {name: int(value) for name, value in (setting.split("=") for setting in settings)}
    emitted = Kernel("raw", variant, form or variant.row.row.forms[0], values)
    return Dot(specification, emitted, _Nothing())


class _Nothing:
    """A launcher for what is only read."""

    def launch(self, kernel: Any, batch: Any) -> Any:
        raise NotImplementedError


def arithmetic_table(specification: Specification, observed: Mapping[str, Observed]) -> list[dict[str, Any]]:
    """One line a kernel: what its patterns amount to, and whether that is what the text guarantees."""
    known = _variants(specification)
    lines = []
    for one in observed.values():
        variant = known[one.kernel.split()[0]]
        dot = _dot(specification, variant, one.kernel)
        found = summary(dot, one.values)
        lines.append(
            {
                "kernel": variant.mnemonic,
                "dtype": dot.types["D"],
                "bits": f"{found.bits}{' or more' if found.all else ''}",
                "bits of C": str(min(found.bits_c, found.bits_small_c)),
                "dropped": found.dropped,
                "halves": found.halves,
                "result": found.rounding_c,
                "block": found.block,
                "guaranteed": verdict(specification, variant, found),
                "specials": dict(found.specials),
            }
        )
    return lines


def verdict(specification: Specification, variant: Variant, found: Summary) -> str:
    """Whether sums keep the significand that the text guarantees: its bits, the leading one among them."""
    wanted = arithmetic(specification, variant).sums.bits
    kept = min(found.bits, found.bits_c, found.bits_small_c) + 1
    return f"{'kept' if kept >= wanted else 'NOT kept'}: {wanted} bits"
