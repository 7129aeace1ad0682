"""Which rule says where a matrix in shared memory lies: by its id, typed from 9.7.15.5.1.2 and 9.7.16.3.3.

Every address of tcgen05's matrices is compared with a CuTe layout and a swizzle, typed from the text.
"""

from __future__ import annotations

import itertools

import pytest

from ptxmma.spec.addresses import DescribedMatrix
from ptxmma.spec.descriptor import decode, encode
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import Specification

WATCHES = ("spec/addresses.yaml", "spec/descriptors.yaml", "spec/layouts/shared_memory.yaml")

LEADING, STRIDE = "leading-dimension-byte-offset", "stride-dimension-byte-offset"
SWIZZLED = {"32B": 32, "64B": 64, "128B": 128}
RULE_K = ("K", "smem.k-major", {"none": 16, **SWIZZLED}, {"block": STRIDE, "column": LEADING})
RULES = {
    "k-major": RULE_K,
    "mn-major.none": ("MN", "smem.mn-major.none", {"none": 16}, {"block": STRIDE, "column": LEADING}),
    "mn-major.swizzled": ("MN", "smem.mn-major", SWIZZLED, {"block": LEADING, "column": STRIDE}),
    "tcgen05.k-major": RULE_K,
    "tcgen05.mn-major.none": (
        "MN",
        "smem.tcgen05.mn-major.none",
        {"none": 16},
        {"block": STRIDE, "column": LEADING},
    ),
    "tcgen05.mn-major.swizzled": (
        "MN",
        "smem.tcgen05.mn-major",
        SWIZZLED,
        {"block": LEADING, "column": STRIDE},
    ),
    "tcgen05.mn-major.atom32": (
        "MN",
        "smem.tcgen05.mn-major.atom32",
        {"128B-atom32": 128},
        {"block": LEADING, "column": STRIDE},
    ),
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
    name = next(iter(specification.descriptors))
    descriptor = specification.descriptors[name]
    assert name == "wgmma" and descriptor.bits == 64
    assert set(descriptor.addresses) == {rule for rule in RULES if not rule.startswith("tcgen05.")}
    assert {n: (f.low, f.high, f.unit) for n, f in descriptor.fields.items()} == FIELDS
    assert {n: dict(f.values) for n, f in descriptor.fields.items() if f.values} == {"swizzle-mode": MODES}
    parts = {f.part: n for n, f in descriptor.fields.items() if f.part}
    assert parts == {"start": "start-address", "base": "base-offset", "mode": "swizzle-mode"}


# Table 54: the types that lie along K, along M or N, and along M or N in atoms of 32 bytes.
TYPES = {
    "tcgen05.k-major": {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8", "u8"},
    "tcgen05.mn-major.none": {"f16", "bf16", "e4m3", "e5m2", "s8", "u8"},
    "tcgen05.mn-major.swizzled": {"f16", "bf16", "e4m3", "e5m2", "s8", "u8"},
    "tcgen05.mn-major.atom32": {"tf32"},
}


def test_the_rules_of_tcgen05(specification: Specification) -> None:
    rules = specification.rules_of("tcgen05.shared")
    assert {name: set(rule.types) for name, rule in rules.items()} == TYPES
    own = {name: rule.swizzle for name, rule in rules.items() if rule.swizzle is not None}
    assert [(n, s.line, s.unit) for n, s in own.items()] == [("tcgen05.mn-major.atom32", 128, 32)]
    assert specification.addresses.swizzle.unit == 16


# 9.7.16.3.3: Swizzle<bits, base, shift> of every mode, and how many units of 16 bytes a row of an atom has.
SWIZZLES = {
    "none": ((0, 4, 3), 1),
    "32B": ((1, 4, 3), 2),
    "64B": ((2, 4, 3), 4),
    "128B": ((3, 4, 3), 8),
    "128B-atom32": ((2, 5, 2), 8),
}
PATTERN = 0x4C00  # a start address of the swizzling pattern
LBO, SBO = 0x1000, 0x20000  # far enough apart for every atom


def swizzled(address: int, bits: int, base: int, shift: int) -> int:
    return address ^ (address & ((1 << bits) - 1) << base + shift) >> shift


def cute(major: str, mode: str, size: int, x: int, k: int) -> int:
    """The canonical layout, in bytes: ((8,m),(T,2k)) K-major and ((T,W,m),(8,k)) MN-major, T elements a unit."""
    per_unit, (function, units) = 16 // size, SWIZZLES[mode]
    if major == "K":
        row, group = x % 8, x // 8
        element, unit = k % per_unit, k // per_unit
        across = LBO * unit if mode == "none" else 16 * unit  # swizzled rows hold all of K behind one another
        linear = row * units * 16 + group * SBO + element * size + across
    else:
        deep = 4 if mode == "128B-atom32" else 8
        element, unit, group = x % per_unit, x // per_unit % units, x // per_unit // units
        inner, outer = k % deep, k // deep
        far = (SBO * group, LBO * outer) if mode == "none" else (LBO * group, SBO * outer)
        linear = element * size + unit * 16 + inner * units * 16 + sum(far)
    return swizzled(PATTERN + linear, *function)


CASES = [
    *(("K", mode, size) for mode in ("none", "32B", "64B", "128B") for size in (1, 2, 4)),
    *(("MN", mode, size) for mode in ("none", "32B", "64B", "128B") for size in (1, 2)),
    ("MN", "128B-atom32", 4),
]


def matrix(specification: Specification, major: str, mode: str, size: int, base: int = 0) -> DescribedMatrix:
    descriptor = specification.descriptors["tcgen05.shared"]
    fields: dict[str, int | str] = {
        "start-address": PATTERN,
        LEADING: LBO,
        STRIDE: SBO,
        "swizzle-mode": mode,
        "base-offset": base,
    }
    return DescribedMatrix.of(
        specification.rules_of("tcgen05.shared"),
        specification.layouts,
        specification.addresses.swizzle,
        descriptor,
        decode(descriptor, encode(descriptor, fields)),
        major,
        size,
    )


@pytest.mark.parametrize(("major", "mode", "size"), CASES)
def test_every_address(specification: Specification, major: str, mode: str, size: int) -> None:
    """Of the largest matrix that one instruction reads: 256 rows, 64 bytes along K; and the inverse."""
    found = matrix(specification, major, mode, size)
    depth = min(64 // size, SWIZZLES[mode][1] * 16 // size) if major == "K" and mode != "none" else 64 // size
    seen = set()
    for x, k in itertools.product(range(256), range(depth)):
        address = int(found.places(x, k))
        assert address == cute(major, mode, size, x, k), (x, k)
        seen.add(address)
    assert len(seen) == 256 * depth
    for x, k in ((0, 0), (9, 3), (255, depth - 1), (77, depth // 2)):
        assert found.element(found.address(x, k)) == (x, k)
    for x, k in ((256, 0), (0, 64 // size)):
        with pytest.raises(Question):
            found.address(x, k)


@pytest.mark.parametrize(
    ("major", "mode", "size"), [("K", "128B-atom32", 4), ("MN", "128B", 4), ("MN", "none", 4)]
)
def test_what_does_not_go_together(specification: Specification, major: str, mode: str, size: int) -> None:
    """Tables 54 and 55: atoms of 32 bytes are for M or N, and for elements of 32 bits only."""
    with pytest.raises(Question):
        matrix(specification, major, mode, size)


def test_a_base_offset_of_atoms_of_32_bytes(specification: Specification) -> None:
    """A pattern that begins at line b of 512 bytes is the one at a boundary, moved."""
    plain = matrix(specification, "MN", "128B-atom32", 4)
    for base in range(1, 8):
        moved = matrix(specification, "MN", "128B-atom32", 4, base)
        for x, k in ((0, 0), (9, 3), (31, 2)):
            line = PATTERN + 128 * (k + base) + 4 * x
            assert moved.places(x, k) == swizzled(PATTERN + 128 * k + 4 * x, 0, 5, 2) ^ (
                ((line >> 7) - 2 * base & 3) << 5
            )
    assert plain.places(0, 1) == PATTERN + 128 ^ 1 << 5
