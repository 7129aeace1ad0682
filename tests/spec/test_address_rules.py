"""Which rule says where a matrix in shared memory lies: by its id, typed from 9.7.15.5.1.2."""

from __future__ import annotations

from ptxmma.spec.specification import Specification

WATCHES = ("spec/addresses.yaml", "spec/descriptors.yaml")

LEADING, STRIDE = "leading-dimension-byte-offset", "stride-dimension-byte-offset"
SWIZZLED = {"32B": 32, "64B": 64, "128B": 128}
RULES = {
    "k-major": ("K", "smem.k-major", {"none": 16, **SWIZZLED}, {"block": STRIDE, "column": LEADING}),
    "mn-major.none": ("MN", "smem.mn-major.none", {"none": 16}, {"block": STRIDE, "column": LEADING}),
    "mn-major.swizzled": ("MN", "smem.mn-major", SWIZZLED, {"block": LEADING, "column": STRIDE}),
}
# 9.7.15.5.1.2.2: the bits of each field, the unit of its coded value, and the modes.
FIELDS = {
    "start-address": (0, 13, 16),
    LEADING: (16, 29, 16),
    STRIDE: (32, 45, 16),
    "base-offset": (49, 51, 1),
    "swizzle-mode": (62, 63, 1),
}
MODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}


def test_rules(specification: Specification) -> None:
    rules = specification.addresses.addresses
    found = {n: (r.major, r.layout, dict(r.widths), dict(r.strides)) for n, r in rules.items()}
    assert found == RULES
    assert specification.addresses.swizzle.line == 128


def test_the_descriptor(specification: Specification) -> None:
    (name,) = specification.descriptors
    descriptor = specification.descriptors[name]
    assert name == "wgmma" and set(descriptor.addresses) == set(RULES)
    assert {n: (f.low, f.high, f.unit) for n, f in descriptor.fields.items()} == FIELDS
    assert {n: dict(f.values) for n, f in descriptor.fields.items() if f.values} == {"swizzle-mode": MODES}
    parts = {f.part: n for n, f in descriptor.fields.items() if f.part}
    assert parts == {"start": "start-address", "base": "base-offset", "mode": "swizzle-mode"}
