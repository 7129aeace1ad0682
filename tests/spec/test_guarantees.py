"""The precision that the text guarantees of products and sums, by rules typed from "Precision and rounding".

9.7.15.6.3 and 9.7.14.5.14 of the PTX ISA 9.2. What is read off a number is its significant bits, the implicit one
among them.
"""

from __future__ import annotations

from ptxmma.formal.plans import Computation, arithmetic
from ptxmma.spec.parts import computes
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import RowView

WATCHES = ("spec/numerics.yaml", "spec/contracts.yaml")
BITS = {
    "f16": 11, "bf16": 8, "tf32": 11, "f32": 24, "f64": 53,
    "e4m3": 4, "e5m2": 3, "e3m2": 3, "e2m3": 4, "e2m1": 2,
}  # fmt: skip
TYPES = ("atype", "multiplicand", "btype", "ctype", "dtype", "rnd")
FP8 = {"e4m3", "e5m2"}

# What each clause says has which precision: "at least single precision", "half precision", or that of the types.
GUARANTEES = {
    "num.product.single": ("products", {"f32"}),
    "num.product.specified": ("products", {"atype", "btype"}),
    "num.accumulate.f32": ("sums", {"f32"}),
    "num.accumulate.fp8": ("sums", {"f16"}),
    "num.accumulate.f16": ("sums", {"f16"}),
    "num.f64.rounding": ("sums", {"f64"}),
}


def test_every_clause_guarantees_what_it_says(specification: Specification) -> None:
    found = {name: (one.of, set(one.precision)) for name, one in specification.guarantees.items()}
    assert found == GUARANTEES


def expected(view: RowView, computed: Computation) -> tuple[int, int]:
    """The significant bits of each product and of every sum."""
    instruction, a, b = view.family.instruction.instruction, computed.a.name, computed.b.name
    single, half, double = BITS["f32"], BITS["f16"], BITS["f64"]
    if a == "f64":
        return double, double
    own = max(BITS[a], BITS[b])
    # "with specified precision": the text says so of .bf16 and .tf32, and of all but .f16 in mma.sp (9.7.14.6.3)
    specified = a in ("bf16", "tf32") or (instruction == "mma.sp" and a != "f16")
    # above half precision, below single: .e4m3 and .e5m2 in wgmma (9.7.15.5.2, 11.1)
    narrow = instruction.startswith("wgmma") and {a, b} <= FP8
    return own if specified else single, half if computed.d.name == "f16" or narrow else single


def test_every_row_has_the_precision_that_the_text_guarantees(specification: Specification) -> None:
    found, wanted = {}, {}
    for family in specification.families.values():
        for view in family.rows:
            if view.row.tolerated or not computes(family.instruction):
                continue
            for variant in view.variants():
                key = view.id, *(variant.fields.get(name) for name in TYPES)
                if key in found:
                    continue
                computed = arithmetic(specification, variant)
                if computed.d.integer:
                    break
                found[key] = computed.products.bits, computed.sums.bits
                wanted[key] = expected(view, computed)
    assert len(found) > 240
    assert found == wanted
