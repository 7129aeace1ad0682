"""The index against tables typed from the PTX ISA: releases, targets, element types, register types."""

from __future__ import annotations

import pytest

from ptxmma.spec.special_registers import special_types
from ptxmma.spec.specification import Specification

WATCHES = ("specs.yaml",)

# PTX ISA 9.5, release notes, table of releases: the PTX ISA versions that came with CUDA 9.0 and later.
# Two toolkits have 8.5. By toolkit the wheels of PyPI are named.
RELEASES = {
    "6.0": [], "6.1": [], "6.2": [], "6.3": [], "6.4": [], "6.5": [], "7.0": [], "7.1": [], "7.2": [], "7.3": [],
    "7.4": [], "7.5": [], "7.6": [], "7.7": ["11.7"], "7.8": ["11.8"], "8.0": ["12.0"], "8.1": ["12.1"],
    "8.2": ["12.2"], "8.3": ["12.3"], "8.4": ["12.4"], "8.5": ["12.5", "12.6"], "8.6": [], "8.7": ["12.8"],
    "8.8": ["12.9"], "9.0": ["13.0"], "9.1": ["13.1"], "9.2": ["13.2"], "9.3": ["13.3"], "9.4": ["13.4"],
    "9.5": ["13.5"],
}  # fmt: skip
PLAIN = [
    35,
    37,
    50,
    52,
    53,
    60,
    61,
    62,
    70,
    72,
    75,
    80,
    86,
    87,
    88,
    89,
    90,
    100,
    101,
    103,
    107,
    110,
    120,
    121,
]
OWN = [90]  # whose features that no other target has are those of sm_90a, without a family between
FAMILIES = {
    100: [100, 103, 107],
    101: [101],
    110: [110],
    120: [120, 121],
}  # the first, and who is of its family
TYPES = {
    "f16": (16, "float"), "bf16": (16, "float"), "tf32": (32, "float"), "f32": (32, "float"), "f64": (64, "float"),
    "e4m3": (8, "float"), "e5m2": (8, "float"), "e3m2": (6, "float"), "e2m3": (6, "float"), "e2m1": (4, "float"),
    "s8": (8, "signed"), "u8": (8, "unsigned"), "s4": (4, "signed"), "u4": (4, "unsigned"), "s32": (32, "signed"),
    "b1": (1, "bits"), "b2": (2, "bits"), "b8": (8, "bits"), "b16": (16, "bits"), "b8x16": (8, "bits"), "b6x16_p32": (6, "bits"),
    "b4x16_p64": (4, "bits"), "ue8m0": (8, "scale"), "ue4m3": (8, "scale"),
}  # fmt: skip
# 5.2.1, fundamental types, without those that no instruction here takes; predicates are of no size.
REGISTERS = {
    16: {"b16", "u16", "s16"}, 32: {"b32", "u32", "s32", "f32", "f16x2"}, 64: {"b64", "u64", "s64", "f64"},
}  # fmt: skip
# Registers that hold elements: of any type of 32 bits, but for these.
HELD = {
    "f16": {"b32", "f16x2"}, "bf16": {"b32"}, "tf32": {"b32"}, "f32": {"b32", "f32"}, "f64": REGISTERS[64],
    "s32": {"b32", "s32", "u32"}, "ue8m0": {"b32"}, "ue4m3": {"b32"},
}  # fmt: skip


def test_every_version_and_the_toolkits_that_brought_it(specification: Specification) -> None:
    releases = specification.index.releases
    assert {str(one.ptx): [a.toolkit for a in one.assemblers] for one in releases} == RELEASES
    assert [str(one) for one in specification.index.earlier] == [
        "3.1",
        "3.2",
        "4.0",
        "4.1",
        "4.2",
        "4.3",
        "5.0",
        "5.1",
    ]


def test_the_package_of_each_assembler(specification: Specification) -> None:
    """The wheels of CUDA 11 and 12 have the toolkit's first number in their name."""
    for release in specification.index.releases:
        for one in release.assemblers:
            major = one.version.split(".")[0]
            assert one.package == ("nvidia-cuda-nvcc" if major == "13" else f"nvidia-cuda-nvcc-cu{major}")


def includes() -> dict[str, set[str]]:
    """11.1.2: a target has what older ones have; f what its family has; a what its own f has."""
    found: dict[str, set[str]] = {}
    for number in PLAIN:
        found[f"sm_{number}"] = {f"sm_{older}" for older in PLAIN if older <= number}
    for number in OWN:
        found[f"sm_{number}a"] = {f"sm_{number}a"} | found[f"sm_{number}"]
    for first, members in FAMILIES.items():
        for number in members:
            family = {f"sm_{number}f"} | found[f"sm_{number}"]
            found[f"sm_{number}f"] = family | ({f"sm_{first}f"} if number != first else set())
            found[f"sm_{number}a"] = {f"sm_{number}a"} | found[f"sm_{number}f"]
    return found


def test_what_each_target_includes(specification: Specification) -> None:
    including = specification.isa.including
    expected = includes()
    assert set(including) == set(expected)
    for target in expected:
        assert {one for one, those in including.items() if target in those} == expected[target], target


def test_the_targets_stand_in_the_order_of_their_numbers(specification: Specification) -> None:
    """And with one number: sm_100, sm_100f, sm_100a. Ranges of targets go by this order."""
    targets = list(specification.index.targets)
    assert targets == sorted(targets, key=lambda name: (int(name[3:].rstrip("fa")), " fa".find(name[-1])))


def test_the_targets_that_some_ptxas_takes_too_early(specification: Specification) -> None:
    """11.1.2 says since when; ptxas takes the first under 5.1 too, and one release the second under 7.3."""
    targets = specification.index.targets
    assert (str(targets["sm_70"].since), str(targets["sm_88"].since)) == ("6.0", "9.0")


def test_the_renamed_targets(specification: Specification) -> None:
    renamed = {
        n: (t.renamed.to, str(t.renamed.since)) for n, t in specification.index.targets.items() if t.renamed
    }
    assert renamed == {f"sm_101{letter}": (f"sm_110{letter}", "9.0") for letter in ("", "f", "a")}


def test_the_sections_that_moved(specification: Specification) -> None:
    """The tables of contents of 9.2 and 9.4: in 9.4 two sections more stand before those on matrices."""
    index = specification.index
    assert (str(index.manual), str(index.isa)) == ("9.2", "9.5")
    moved = {old: (str(new.manual), new.section) for old, new in index.moved.items()}
    chapters = {"9.7.14": "9.7.16", "9.7.15": "9.7.17", "9.7.16": "9.7.18"}
    # In 9.4 a section on decompression stands before that of sparse matrices of tcgen05, 9.7.16.10.8 in 9.2.
    shifted = {"9.7.16.10.8": "9.7.18.10.9", "9.7.16.10.9": "9.7.18.10.10"}
    assert moved == {old: ("9.4", new) for old, new in (chapters | shifted).items()}


def test_element_types(specification: Specification) -> None:
    types = specification.index.types
    assert {name: (one.bits, one.kind) for name, one in types.items()} == TYPES


@pytest.mark.parametrize("name", TYPES)
def test_registers_of_element_types(specification: Specification, name: str) -> None:
    assert set(specification.index.types[name].registers) == HELD.get(name, REGISTERS[32])


def test_register_types_and_their_sets(specification: Specification) -> None:
    index = specification.index
    assert set(index.register_types) == {"pred"}.union(*REGISTERS.values())
    sets = {name: set(members) for name, members in index.register_sets.items()}
    floats, integers = (
        {"f32", "f64", "f16x2"},
        [REGISTERS[size] - {"f32", "f64", "f16x2"} for size in (16, 32, 64)],
    )
    assert sets == {
        "any32": REGISTERS[32], "float32": {"b32"} | (floats & REGISTERS[32]) - {"f16x2"},
        "integer16": integers[0], "integer32": integers[1], "integer64": integers[2],
        "address": integers[1] | integers[2],
    }  # fmt: skip


def test_qualifiers_whose_order_or_number_matters(specification: Specification) -> None:
    index = specification.index
    ordered = {name: set(words) for name, words in index.ordered.items()}
    assert ordered == {"layout": {"row", "col"}, "operation": {"xor", "and", "popc"}}
    assert set(index.repeatable) == {"sync", "satfinite", "NaN"}


# Typed from the sections of testp, of tensormap.replace, of multimem.red, of ld, and of types and variables.
ELSEWHERE = """
    finite infinite number notanumber normal subnormal
    global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout swizzle_mode
    swizzle_atomicity fill_mode
    acc::f16 acc::f32
    v2 v4 v8
    pred texref samplerref surfref b2 b4
"""


def test_qualifiers_that_only_other_instructions_have(specification: Specification) -> None:
    assert sorted(specification.index.elsewhere) == sorted(ELSEWHERE.split())


# Section 10 of the PTX ISA, typed from its table of contents: by type, those with components apart.
SPECIAL = {
    "b32": "laneid warpid nwarpid smid nsmid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt clock clock_hi "
    "globaltimer_lo globaltimer_hi reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap "
    "total_smem_size aggr_smem_size dynamic_smem_size cluster_ctarank cluster_nctarank perctamemorysize "
    + " ".join(f"pm{n}" for n in range(8))
    + " reserved_smem_offset_0 reserved_smem_offset_1 "
    + " ".join(f"envreg{n}" for n in range(32)),
    "b64": "clock64 gridid globaltimer current_graph_exec perctamemoryoffset "
    + " ".join(f"pm{n}_64" for n in range(8)),
    "pred": "is_explicit_cluster",
}
OF_FOUR = "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid"


def test_special_registers_by_their_types(specification: Specification) -> None:
    """No more and no fewer; those of four have components, whose letters are those of a vector's."""
    parts = {f"%{name}.{part}": "b32" for name in OF_FOUR.split() for part in "xyzwrgba"}
    whole = {f"%{name}": "v4.b32" for name in OF_FOUR.split()}
    single = {f"%{name}": kind for kind, names in SPECIAL.items() for name in names.split()}
    assert special_types(specification.index) == single | whole | parts


# What goes together in one vector, typed by hand from what was asked of ptxas.
SIMILAR = {"b32": "u32 s32 integer | f32 double | f16x2 | pred", "b64": "u64 s64 integer | f64 single"}


def test_which_types_stand_together_in_a_vector(specification: Specification) -> None:
    found = specification.index.similar_types
    groups = {kind: [group.split() for group in text.split("|")] for kind, text in SIMILAR.items()}
    assert {kind: [[*group] for group in some] for kind, some in found.items()} == groups
