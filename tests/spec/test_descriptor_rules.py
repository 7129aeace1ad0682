"""Which words of tcgen05's descriptors are legal: typed from 9.7.16.2.1, 9.7.16.4 and 9.7.16.10, beside the YAML.

`is_legal` reads the bits of a word itself. `COUNTS` are products worked out by hand from the tables.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections.abc import Iterator, Mapping

import pytest
import yaml

from ptxmma.spec.api import judge
from ptxmma.spec.described_operands import holding
from ptxmma.spec.descriptor import encode
from ptxmma.spec.descriptor_rules import count_legal, judge_word
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.memory_checks import check_memory
from ptxmma.spec.memory_records import DescriptorFile
from ptxmma.spec.nodes import structure
from ptxmma.spec.specification import Specification

WATCHES = ("spec/descriptors.yaml",)

PLAIN = ("f16", "tf32", "f8f6f4", "i8", "ti16")
SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4")
Settings = dict[str, int]


def bits(word: int, low: int, high: int) -> int:
    return word >> low & (1 << high - low + 1) - 1


def n_fits(kind: str, n: int, cta: int, ws: int, sp: int, m: int = 64) -> bool:
    """Table 39, and Table 48 of PTX ISA 9.4 for .kind::ti16: the columns of B."""
    if ws:
        return n in ((64, 128) if sp else (64, 128, 256))
    if kind == "ti16":
        return n in (
            range(8 if m == 64 else 16, 257, 8 if m == 64 else 16) if cta == 1 else range(32, 257, 32)
        )
    if kind == "i8":
        return n in ((8, 16, 24, 32, *range(48, 257, 16)) if cta == 1 else range(32, 257, 32))
    return n in (range(8, 257, 8) if cta == 1 else range(16, 257, 16))


def is_plain_legal(
    kind: str, word: int, cta_group: int, ws: int, sp: int, ashift: int, lookup: int = 0
) -> bool:
    """Table 42, for PTX ISA 9.1 and sm_100a; .kind::ti16 and what there is no lookup table for, of 9.4."""
    if lookup or (ws and (cta_group == 2 or ashift)):
        return False
    if bits(word, 6, 6) or bits(word, 23, 23) or bits(word, 29, 29):
        return False
    selector, sparse, saturate, d = bits(word, 0, 1), bits(word, 2, 2), bits(word, 3, 3), bits(word, 4, 5)
    a, b, negates = bits(word, 7, 9), bits(word, 10, 12), bits(word, 13, 14)
    turned_a, turned_b = bits(word, 15, 15), bits(word, 16, 16)
    n, m, shift = bits(word, 17, 22) * 8, bits(word, 24, 28) * 16, bits(word, 30, 31)
    if sparse != sp or (shift and not ws):
        return False
    if selector and (not sparse or kind in ("f8f6f4", "i8")):
        return False
    types = {"f16": (0, 1), "tf32": (2,), "f8f6f4": (0, 1, 3, 4, 5), "i8": (0, 1), "ti16": (3,)}[kind]
    if a not in types or b not in types:
        return False
    if d not in {"f16": (0, 1), "tf32": (1,), "f8f6f4": (0, 1), "i8": (2,), "ti16": (2,)}[kind]:
        return False
    if kind == "ti16" and (turned_a or turned_b):
        return False
    if kind == "f16" and d == 0 and (a or b):
        return False
    if (saturate and kind != "i8") or (negates and kind == "i8"):
        return False
    if kind == "f8f6f4" and ((turned_a and a > 1) or (turned_b and b > 1)):
        return False
    if kind in ("f8f6f4", "i8") and turned_b and n % (16 * cta_group):
        return False
    if m not in ((32, 64, 128) if ws else (64, 128) if cta_group == 1 else (128, 256)):
        return False
    return n_fits(kind, n, cta_group, ws, sp, m) and not (ashift and m < 128)


def is_scaled_legal(
    kind: str, word: int, cta_group: int, sp: int, block: int = 32, k96: int = 0, lookup: int = 0
) -> bool:
    """Tables 43 and 44, for PTX ISA 9.1; `k96` on sm_103a."""
    four = kind != "mxf8f6f4"
    if lookup:
        return False
    if bits(word, 0, 1) or bits(word, 3, 3) or bits(word, 6, 6) or bits(word, 24, 26):
        return False
    if bits(word, 12, 12) if four else bits(word, 31, 31):
        return False
    sparse, id_b, a = bits(word, 2, 2), bits(word, 4, 5), bits(word, 7, 9)
    b = bits(word, 10, 11) if four else bits(word, 10, 12)
    turned_a, turned_b = bits(word, 15, 15), bits(word, 16, 16)
    n, scale, m, id_a = (
        bits(word, 17, 22) * 8,
        bits(word, 23, 23),
        bits(word, 27, 28) * 128,
        bits(word, 29, 30),
    )
    if sparse != sp or m not in ((128,) if cta_group == 1 else (256,) if sp else (128, 256)):
        return False
    if not n_fits(kind, n, cta_group, 0, sp):
        return False
    if not four:
        if a not in (0, 1, 3, 4, 5) or b not in (0, 1, 3, 4, 5) or not scale:
            return False
        if (turned_a and a > 1) or (turned_b and b > 1):
            return False
        return not turned_b or n % (16 * cta_group) == 0
    long = bits(word, 31, 31)
    if a != 1 or b != 1 or turned_a or turned_b or (not scale and block == 32):
        return False
    if long:
        allowed = range(4) if block == 32 else range(0, 4, 2)
        return bool(k96) and not sparse and n % 16 == 0 and id_a in allowed and id_b in allowed
    allowed = range(0, 4, 2) if block == 32 else range(1)
    return id_a in allowed and id_b in allowed


def is_legal(kind: str, word: int, settings: Mapping[str, int]) -> bool:
    return (is_plain_legal if kind in PLAIN else is_scaled_legal)(kind, word, **settings)


def settings_of(kind: str) -> Iterator[Settings]:
    if kind in PLAIN:
        names: dict[str, tuple[int, ...]] = {
            "cta_group": (1, 2),
            "ws": (0, 1),
            "sp": (0, 1),
            "ashift": (0, 1),
        }
        if kind == "f8f6f4":
            names["lookup"] = (0, 1)
    else:
        names = {"cta_group": (1, 2), "sp": (0, 1)}
        if kind == "mxf8f6f4":
            names["lookup"] = (0, 1)
        if kind != "mxf8f6f4":
            names["block"] = (32,) if kind == "mxf4" else (16, 32)
    for values in itertools.product(*names.values()):
        yield dict(zip(names, values, strict=True))


def plain_count(kind: str, cta: int, ws: int, sp: int, ashift: int, lookup: int = 0) -> int:
    """Products of what Table 42 lists."""
    if lookup or (ws and (cta == 2 or ashift)):
        return 0
    ms = 1 if ashift and cta == 1 else 3 if ws else 2
    all_n = (2 if sp else 3) if ws else {1: 18, 2: 8}[cta] if kind == "i8" else {1: 32, 2: 16}[cta]
    even_n = all_n if ws else {1: 16, 2: 8}[cta]  # of a transposed B of 8 bits
    shifts = 4 if ws else 1
    selectors = 4 if sp and kind in ("f16", "tf32", "ti16") else 1
    if kind == "ti16":
        # negations; N by M: steps of 8 with 64, of 16 with 128
        by_m = all_n * ms if ws else (16 if ashift else 32 + 16) if cta == 1 else 8 * ms
        return selectors * 4 * by_m * shifts
    if kind == "f16":
        return (
            selectors * 5 * 4 * 4 * all_n * ms * shifts
        )  # D of f32 with four pairs of types, of f16 with one
    if kind == "tf32":
        return selectors * 4 * 4 * all_n * ms * shifts
    if kind == "i8":
        # saturation, the types, A transposed or not; B transposed or not
        return 2 * 4 * 2 * (all_n + even_n) * ms * shifts
    # D, negations; A of five types, two of which may be transposed; so for B, then with fewer N
    return 2 * 4 * 7 * (5 * all_n + 2 * even_n) * ms * shifts


def scaled_count(kind: str, cta: int, sp: int, block: int, lookup: int = 0) -> int:
    if lookup:
        return 0
    ms = 1 if cta == 1 or sp else 2
    all_n = {1: 32, 2: 16}[cta]
    if kind == "mxf8f6f4":
        even_n = {1: 16, 2: 8}[cta]
        return 16 * 4 * 7 * (5 * all_n + 2 * even_n) * ms
    ids, scales = (4, 1) if block == 32 else (1, 2)
    return ids * scales * 4 * all_n * ms


def test_how_many_words_are_legal(specification: Specification) -> None:
    """On sm_100a, for every kind and everything that a statement says."""
    holds = holding(judge("9.1", "sm_100a"))
    for kind in (*PLAIN, *SCALED):
        descriptor = specification.descriptors[f"tcgen05.{kind}"]
        for settings in settings_of(kind):
            if kind in PLAIN:
                wanted = plain_count(kind, *settings.values())
            else:
                wanted = scaled_count(
                    kind,
                    settings["cta_group"],
                    settings["sp"],
                    settings.get("block", 32),
                    settings.get("lookup", 0),
                )
            assert count_legal(descriptor, settings, holds) == wanted, (kind, settings)


def some_legal(kind: str, settings: Mapping[str, int], chance: random.Random, count: int) -> Iterator[int]:
    """Legal words by trial, of words with the bits that are free; fewer if there are none."""
    for _ in range(count):
        for _ in range(4000):
            word = (
                chance.getrandbits(32) & 0x1F7FFFBF if kind in PLAIN else chance.getrandbits(32) & 0x78FFFFB4
            )
            word = word & ~4 | settings["sp"] << 2
            if kind in PLAIN:
                n, m = chance.choice((8, 24, 64, 128, 256)), chance.choice((32, 64, 128, 256))
                word = (
                    word & ~0x1F7E0000
                    | n // 8 << 17
                    | m // 16 << 24
                    | chance.choice((0, settings["ws"])) << 30
                )
                word = word & ~0x38 | chance.choice((0, 1, 2)) << 4 | chance.choice((0, kind == "i8")) << 3
            if kind == "ti16":
                word = word & ~0x19FB0 | 0xDA0
            if kind in ("mxf4", "mxf4nvf4"):
                word = word & ~0x19F80 | 0x480 | 0x6000 & word
            if is_legal(kind, word, settings):
                yield word
                break


@pytest.mark.parametrize("kind", [*PLAIN, *SCALED])
def test_words_and_their_neighbours(specification: Specification, kind: str) -> None:
    """Legal words, and what one bit makes of each, on sm_100a."""
    descriptor, holds = specification.descriptors[f"tcgen05.{kind}"], holding(judge("9.1", "sm_100a"))
    chance, seen = random.Random(kind), {True: 0, False: 0}
    for settings in settings_of(kind):
        for word in some_legal(kind, settings, chance, 3):
            for near in (word, *(word ^ 1 << bit for bit in range(32))):
                found = judge_word(descriptor, near, settings, holds)
                assert bool(found) == is_legal(kind, near, settings), (
                    kind,
                    settings,
                    hex(near),
                    found.reasons,
                )
                assert bool(found.reasons) != bool(found)
                seen[bool(found)] += 1
    assert seen[True] > 100 and seen[False] > 100


@pytest.mark.parametrize("block", [16, 32])
def test_a_k_of_96(specification: Specification, block: int) -> None:
    """9.7.16.10.7.2.4 and .5: the ids of scale factors of three and of six, on sm_103a."""
    descriptor, holds = specification.descriptors["tcgen05.mxf4nvf4"], holding(judge("9.1", "sm_103a"))
    for id_a, n, scale in itertools.product(range(4), (16, 24, 256), (0, 1)):
        word = 1 << 31 | 1 << 27 | 0x480 | id_a << 29 | n // 8 << 17 | scale << 23
        settings = {"cta_group": 1, "sp": 0, "block": block}
        wanted = is_scaled_legal("mxf4nvf4", word, **settings, k96=1)
        assert bool(judge_word(descriptor, word, settings, holds)) == wanted
        assert not judge_word(descriptor, word, settings, holding(judge("9.1", "sm_100a")))
        assert not judge_word(descriptor, word, settings, holding(judge("8.7")))


# On sm_107: a word, what the statement says, and whether it is legal there.
LATER = [
    ("f8f6f4", 0x28100010, {}, True),  # K = 64
    ("f8f6f4", 0x28100014, {"sp": 1}, True),  # K = 128
    ("f8f6f4", 0x28100010, {"lookup": 1}, True),
    ("f8f6f4", 0x28100190, {"lookup": 0}, False),  # K = 64 of six bits
    ("f8f6f4", 0x24100010, {"ws": 0}, False),  # K = 64 with M = 64
    ("f8f6f4", 0x24100010, {"ws": 1}, True),
    ("f8f6f4", 0x28020010, {"cta_group": 1, "ws": 0}, False),  # K = 64 with N = 8
    ("mxf8f6f4", 0x90900000, {"cta_group": 2}, True),
    ("mxf8f6f4", 0x88900000, {"cta_group": 2}, False),  # K = 64 with half an M
    ("mxf8f6f4", 0x88900004, {"cta_group": 1, "sp": 1}, True),  # K = 128
    ("f16", 0x28100010, {}, False),
    ("mxf8f6f4", 0x8C900000, {}, True),  # K = 64, scale factors of A in 128 lanes
    ("mxf8f6f4", 0x09100000, {}, False),  # no ue5m3
    ("mxf8f6f4", 0x0A900000, {}, False),  # bit 25
    ("mxf4nvf4", 0x09100480, {"block": 16}, True),  # ue5m3
    ("mxf4nvf4", 0x09100488, {"block": 16}, True),  # K = 128
    ("mxf4nvf4", 0x89100488, {"block": 16}, False),
    ("mxf4nvf4", 0x08100480, {"block": 32}, True),  # ue4m3 with blocks of 32, Table 69 there
    ("mxf4nvf4", 0x09900480, {"block": 16}, False),  # scale type 3
    ("mxf4", 0x09100480, {}, False),
]


@pytest.mark.parametrize(("kind", "word", "settings", "legal"), LATER)
def test_later_fields(
    specification: Specification, kind: str, word: int, settings: Settings, legal: bool
) -> None:
    descriptor = specification.descriptors[f"tcgen05.{kind}"]
    version = 1 << 12 if kind in ("mxf4", "mxf4nvf4") else 0
    assert bool(judge_word(descriptor, word | version, settings, holding(judge("9.4", "sm_107a")))) == legal
    assert bool(judge_word(descriptor, word, settings, holding(judge("9.5", "sm_107f")))) == legal
    assert not judge_word(descriptor, word, settings, holding(judge("9.5", "sm_103a")))


# 9.7.18.4.2.1 of PTX ISA 9.4: the versions of the sparse coding that a target takes, dense or sparse. Of
# sm_107f it says nothing, and where no target is named either may be meant.
VERSIONS = [
    ("9.4", "sm_107a", {1}),
    ("9.5", "sm_107a", {1}),
    ("9.4", "sm_107f", {0, 1}),
    ("9.4", None, {0, 1}),
    ("9.4", "sm_100a", {0}),
    ("9.4", "sm_103a", {0}),
    ("9.4", "sm_110a", {0}),
    ("9.1", None, {0}),
]


@pytest.mark.parametrize(("ptx", "target", "versions"), VERSIONS)
def test_the_version_of_the_sparse_coding(
    specification: Specification, ptx: str, target: str | None, versions: set[int]
) -> None:
    holds = holding(judge(ptx, target))
    for kind, scale in (("mxf4", 1), ("mxf4nvf4", 0)):
        descriptor = specification.descriptors[f"tcgen05.{kind}"]
        for sparse in (0, 1):
            settings = {"cta_group": 1, "sp": sparse, "block": 32 if scale else 16}
            word = 0x08100480 | sparse << 2 | scale << 23
            found = {v for v in (0, 1) if judge_word(descriptor, word | v << 12, settings, holds)}
            assert found == versions, (kind, sparse)
            count = count_legal(descriptor, settings, holds)
            other = {v for v in (0, 1) if v not in versions}
            assert count and not any(judge_word(descriptor, word | v << 12, settings, holds) for v in other)


def test_the_version_halves_the_words(specification: Specification) -> None:
    """sm_107a takes one version, sm_107f two. Ids 0 and 2 of A and of B, two negations, two layouts of A's
    scale factors and 32 values of N go with K = 64 and with K = 128; K = 96 is of sm_107a alone.
    """
    descriptor = specification.descriptors["tcgen05.mxf4"]
    settings = {"cta_group": 1, "sp": 0, "block": 32}
    both = count_legal(descriptor, settings, holding(judge("9.4", "sm_107f")))
    assert both == 2 * (4 * 4 * 2 * 32) * 2
    long = 4 * 4 * 4 * 2 * 16  # K = 96: any of four ids twice, and N in steps of 16
    assert count_legal(descriptor, settings, holding(judge("9.4", "sm_107a"))) == both // 2 + long


FIRST = [
    ("f16", 0xFFFFFFFF, {}, "reserved"),
    ("f16", 0x08100410, {"cta_group": 1, "ws": 0, "sp": 0, "ashift": 0}, None),
    ("f16", 0x08100400, {"cta_group": 1, "ws": 0, "sp": 0, "ashift": 0}, "types.f16"),
    ("f16", 0x08100020, {}, "value"),
    ("f16", 0x08100014, {"sp": 0}, "sparse"),
    ("f16", 0x08100011, {"sp": 0, "ws": 0}, "selector.dense"),
    ("f16", 0x08100018, {}, "saturate"),
    ("f16", 0x10100010, {"cta_group": 1, "ws": 0}, "M.one"),
    ("f16", 0x04100010, {"cta_group": 2, "ws": 0}, "M.two"),
    ("f16", 0x10100010, {"ws": 1, "cta_group": 1}, "M.ws"),
    ("f16", 0x04100010, {"ashift": 1, "cta_group": 1}, "M.ashift"),
    ("f16", 0x08000010, {"cta_group": 1, "ws": 0}, "N.one"),
    ("f16", 0x08020010, {"cta_group": 2, "ws": 0}, "N.two"),
    ("f16", 0x08080010, {"ws": 1}, "N.ws"),
    ("f16", 0x48100010, {"ws": 0, "ashift": 0}, "max-shift"),
    ("i8", 0x08102020, {}, "negate"),
    ("i8", 0x08060020, {"cta_group": 1, "ws": 0}, None),
    ("i8", 0x080A0020, {"cta_group": 1, "ws": 0}, "N.one"),
    ("i8", 0x080C0020, {"cta_group": 2, "ws": 0}, "N.two"),
    ("i8", 0x08070020, {"cta_group": 1, "ws": 0, "ashift": 0}, "N.transposed"),
    ("i8", 0x08100025, {"sp": 1}, "selector.zero"),
    ("f8f6f4", 0x08108190, {}, "transpose.A"),
    ("f8f6f4", 0x08110C10, {}, "transpose.B"),
    ("f8f6f4", 0x28100010, {}, None),
    ("mxf4", 0x08908480, {}, "transpose"),
    ("mxf4", 0x08900490, {}, "scale-id.32"),
    ("mxf4nvf4", 0x08100480, {"block": 32}, None),  # on sm_107
    ("mxf4nvf4", 0x089004A0, {"block": 16}, "scale-id.16"),
    ("mxf4nvf4", 0x90900484, {}, None),
    ("mxf4", 0x08901488, {"cta_group": 1}, None),
    ("mxf4", 0x08901488, {"cta_group": 2}, "K.128.M"),
    ("mxf4nvf4", 0x10101488, {"cta_group": 2}, None),
    ("ti16", 0x08100DA0, {"sp": 0}, None),
    ("ti16", 0x08108DA0, {}, "value"),
    ("ti16", 0x08100D20, {}, "value"),
    ("ti16", 0x08100DA8, {}, "saturate"),
    ("ti16", 0x08020DA0, {"cta_group": 1, "ws": 0}, "N.one"),
    ("ti16", 0x04020DA0, {"cta_group": 1, "ws": 0}, None),
    ("ti16", 0x08040DA0, {"cta_group": 2, "ws": 0}, "N.two"),
    ("f8f6f4", 0x28100010, {"lookup": 1, "ws": 1}, "lookup.ws"),
    ("f8f6f4", 0x28100014, {"lookup": 1, "ws": 0, "sp": 1}, "lookup.dense"),
    ("f8f6f4", 0x28100410, {"lookup": 1}, "lookup.type"),
    ("f8f6f4", 0x28110010, {"lookup": 1}, "lookup.transpose"),
    ("f8f6f4", 0x08100010, {"lookup": 1}, "lookup.K"),
    ("mxf8f6f4", 0x08900000, {"lookup": 1}, "lookup.K"),
]


@pytest.mark.parametrize(("kind", "word", "settings", "first"), FIRST)
def test_the_first_reason(
    specification: Specification, kind: str, word: int, settings: Settings, first: str | None
) -> None:
    found = judge_word(specification.descriptors[f"tcgen05.{kind}"], word, settings, holding(judge()))
    code = found.reasons[0].code if found.reasons else None
    assert code == (first and f"descriptor.{first}"), found.reasons


def test_blocks_of_32_with_ue4m3(specification: Specification) -> None:
    """Table 57 of 9.0 to 9.2 has ue4m3 with blocks of 16 alone; 9.7.18.10.7.1 of 9.4 with 32 on sm_107f."""
    descriptor = specification.descriptors["tcgen05.mxf4nvf4"]
    for ptx, target in (("9.2", None), ("9.4", "sm_100a"), ("9.4", "sm_103a"), ("9.4", "sm_110f")):
        found = judge_word(descriptor, 0x08100480, {"block": 32}, holding(judge(ptx, target)))
        assert [reason.code for reason in found.reasons] == ["descriptor.scale-type.block"], (ptx, target)


# Table 40: the bits of each field and its unit; bits 14, 30 and 53 as CUTLASS's Python has them for sm_107.
SHARED = {
    "start-address": (0, 13, 16),
    "start-address-top": (14, 14, 1 << 18),
    "leading-dimension-byte-offset": (16, 29, 16),
    "leading-dimension-top": (30, 30, 1 << 18),
    "stride-dimension-byte-offset": (32, 45, 16),
    "fixed": (46, 48, 1),
    "base-offset": (49, 51, 1),
    "leading-mode": (52, 52, 1),
    "segment-start": (53, 53, 1),
    "swizzle-mode": (61, 63, 1),
}
# Table 45.
ZERO_COLUMNS = {
    **{f"start-count-{i}": (8 * i, 8 * i + 7, 1) for i in range(4)},
    **{f"first-span-{i}": (32 + i, 32 + i, 1) for i in range(4)},
    "non-zero-mask": (39, 39, 1),
    "skip-span": (40, 47, 1),
    "use-span": (48, 55, 1),
    "column-shift": (56, 61, 1),
}
PLAIN_FIELDS = {
    "sparsity-selector": (0, 1, 1),
    "sparse": (2, 2, 1),
    "saturate": (3, 3, 1),
    "dtype": (4, 5, 1),
    "atype": (7, 9, 1),
    "btype": (10, 12, 1),
    "negate-A": (13, 13, 1),
    "negate-B": (14, 14, 1),
    "transpose-A": (15, 15, 1),
    "transpose-B": (16, 16, 1),
    "N": (17, 22, 8),
    "M": (24, 28, 16),
    "max-shift": (30, 31, 1),
}
SCALED_FIELDS = {
    **{
        name: PLAIN_FIELDS[name]
        for name in PLAIN_FIELDS
        if name not in ("sparsity-selector", "saturate", "dtype")
    },
    "scale-id-B": (4, 5, 1),
    "scale-type": (23, 24, 1),
    "scale-layout-A": (26, 26, 1),
    "M": (27, 28, 128),
    "scale-id-A": (29, 30, 1),
    "K": (31, 31, 1),
}
del SCALED_FIELDS["max-shift"]
FOUR_BIT_FIELDS = {**SCALED_FIELDS, "K-top": (3, 3, 1), "btype": (10, 11, 1), "sparsity-version": (12, 12, 1)}
FIELDS = {
    "shared": SHARED,
    "zero-columns": ZERO_COLUMNS,
    **dict.fromkeys(("f16", "tf32", "i8", "ti16"), PLAIN_FIELDS),
    "f8f6f4": {**PLAIN_FIELDS, "K": (29, 29, 1)},
    "mxf8f6f4": SCALED_FIELDS,
    **dict.fromkeys(("mxf4", "mxf4nvf4"), FOUR_BIT_FIELDS),
}
SHIFTS = {"none": 0, "shift8": 1, "shift16": 2, "shift32": 3}
SMALL = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
VALUES: dict[str, dict[str, dict[str, int]]] = {
    "shared": {
        "leading-mode": {"relative": 0, "absolute": 1},
        "swizzle-mode": {"none": 0, "128B-atom32": 1, "128B": 2, "64B": 4, "32B": 6},
    },
    "zero-columns": {f"first-span-{i}": {"used": 0, "zeroed": 1} for i in range(4)},
    "f16": {"dtype": {"f16": 0, "f32": 1}, "atype": {"f16": 0, "bf16": 1}, "max-shift": SHIFTS},
    "tf32": {"dtype": {"f32": 1}, "atype": {"tf32": 2}, "max-shift": SHIFTS},
    "f8f6f4": {"dtype": {"f16": 0, "f32": 1}, "atype": SMALL, "max-shift": SHIFTS, "K": {"k32": 0, "k64": 1}},
    "i8": {"dtype": {"s32": 2}, "atype": {"u8": 0, "s8": 1}, "max-shift": SHIFTS},
    "ti16": {"dtype": {"s32": 2}, "atype": {"s1z4m11": 3}, "max-shift": SHIFTS},
    "mxf8f6f4": {"atype": SMALL, "scale-type": {"ue8m0": 1}, "K": {"k32": 0, "k64": 1}},
    "mxf4": {"atype": {"e2m1": 1}, "scale-type": {"ue8m0": 1}, "K": {"k64": 0, "k96": 1}},
    "mxf4nvf4": {
        "atype": {"e2m1": 1},
        "scale-type": {"ue4m3": 0, "ue8m0": 1, "ue5m3": 2},
        "K": {"k64": 0, "k96": 1},
    },
}


def test_fields(specification: Specification) -> None:
    found = {name: one for name, one in specification.descriptors.items() if name.startswith("tcgen05.")}
    assert {name.removeprefix("tcgen05.") for name in found} == set(FIELDS)
    for kind, fields in FIELDS.items():
        descriptor = found[f"tcgen05.{kind}"]
        assert {n: (f.low, f.high, f.unit) for n, f in descriptor.fields.items()} == fields, kind
        values = {n: dict(f.values) for n, f in descriptor.fields.items() if f.values}
        assert {n: v for n, v in values.items() if n != "btype"} == VALUES[kind]
        assert values.get("btype") == VALUES[kind].get("atype")
        assert descriptor.bits == (64 if kind in ("shared", "zero-columns") else 32)
        constants = {n: f.constant for n, f in descriptor.fields.items() if f.constant is not None}
        untransposed = {"transpose-A": 0, "transpose-B": 0}
        assert constants == {"shared": {"fixed": 1}, "ti16": untransposed}.get(kind, {})
        unplaced = {n: set(f.unplaced) for n, f in descriptor.fields.items() if f.unplaced}
        assert unplaced == ({"leading-mode": {"absolute"}} if kind == "shared" else {})
        parts = {f.part: n for n, f in descriptor.fields.items() if f.part}
        ends = {"start": "start-address", "base": "base-offset", "mode": "swizzle-mode"}
        assert parts == (ends if kind == "shared" else {})
        said = {n: s.values for n, s in descriptor.settings.items()}
        wanted = (
            {n: tuple(dict.fromkeys(s[n] for s in settings_of(kind))) for n in said}
            if kind in PLAIN + SCALED
            else {}
        )
        assert said == ({"M": (32, 64, 128)} if kind == "zero-columns" else wanted)


def test_the_shared_memory_descriptor(specification: Specification) -> None:
    descriptor = specification.descriptors["tcgen05.shared"]
    word = encode(descriptor, {"start-address": 1024, "swizzle-mode": "128B", "leading-mode": "absolute"})
    assert word == 1024 >> 4 | 1 << 46 | 1 << 52 | 2 << 61
    new, old = holding(judge("8.8", "sm_103a")), holding(judge("9.5", "sm_100a"))
    assert judge_word(descriptor, word, {}, new) and not judge_word(descriptor, word, {}, old)
    assert not judge_word(descriptor, word, {}, holding(judge("8.7")))
    for wrong in (
        word ^ 6 << 61,
        word | 1 << 49,
        word ^ 1 << 46,
        word | 3 << 46,
        word | 1 << 31,
        word | 1 << 60,
    ):
        assert not judge_word(descriptor, wrong, {}, new)
    rubin = holding(judge("9.4", "sm_107a"))
    for bit in (14, 30, 53):
        found = word & ~(1 << 52) | 1 << bit
        assert judge_word(descriptor, found, {}, rubin) and not judge_word(descriptor, found, {}, new)
    for mode in (3, 5, 7):
        assert not judge_word(descriptor, 1 << 46 | mode << 61, {}, new)
    with pytest.raises(Question, match="fixed: 0 is not a value; it must be 1"):
        encode(descriptor, {"fixed": 0})


def test_the_zero_column_mask(specification: Specification) -> None:
    """9.7.16.4.3: at most 16 columns are shifted where M is 32, else 32."""
    descriptor, holds = specification.descriptors["tcgen05.zero-columns"], holding(judge())
    for shift, allowed in (
        (0, {32, 64, 128}),
        (16, {32, 64, 128}),
        (17, {64, 128}),
        (32, {64, 128}),
        (33, set()),
    ):
        word = encode(descriptor, {"column-shift": shift, "skip-span": 2, "use-span": 3, "non-zero-mask": 1})
        assert word == shift << 56 | 3 << 48 | 2 << 40 | 1 << 39
        assert {m for m in (32, 64, 128) if judge_word(descriptor, word, {"M": m}, holds)} == allowed
    assert not judge_word(descriptor, 1 << 36, {}, holds) and not judge_word(descriptor, 1 << 62, {}, holds)


WS = ["ws.one", "ws.ashift"]
SHAPES = ["M.one", "M.two", "M.ws", "M.ashift", "N.one", "N.two", "N.ws"]
SCALED_SHAPES = ["M.one", "M.two", "N.one", "N.two"]
LONG = ["K.96", "K.dense", "K.96.N", "scale-id.32"]
LOOKUP = ["lookup.dense", "lookup.type", "lookup.transpose", "lookup.K"]
FOUR = ["K.128", "K.128.alone", "K.128.M", "sparsity-version", "sparsity-version.one", "scale-layout"]
IDS = {
    "shared": ["absolute.target", "absolute.swizzle", "absolute.base", "start.top", "leading.top", "segment"],
    "zero-columns": ["shift.most", "shift.M32"],
    "f16": [*WS, "sparse", "selector.dense", "saturate", "types.f16", *SHAPES, "max-shift"],
    "tf32": [*WS, "sparse", "selector.dense", "saturate", *SHAPES, "max-shift"],
    "f8f6f4": [
        *("lookup.ws", *LOOKUP, *WS, "sparse", "selector.zero", "saturate", "transpose.A", "transpose.B"),
        *(*SHAPES, "N.transposed", "K.target", "K.64.types", "K.64.M", "K.64.N", "max-shift"),
    ],
    "ti16": [*WS, "sparse", "selector.dense", "saturate", *SHAPES, "max-shift"],
    "i8": [*WS, "sparse", "selector.zero", "negate", *SHAPES, "N.transposed", "max-shift"],
    "mxf8f6f4": [
        *(*LOOKUP, "sparse", "transpose.A", "transpose.B", *SCALED_SHAPES),
        *("N.transposed", "scale-layout", "K.target", "K.64.M"),
    ],
    "mxf4": ["sparse", "transpose", *SCALED_SHAPES, *LONG, *FOUR],
    "mxf4nvf4": [
        *("sparse", "transpose", "scale-type.block", "scale-type.target", *SCALED_SHAPES, *LONG),
        *("scale-id.16", "scale-id.16.96", *FOUR),
    ],
}
LATEST = {"start.top", "leading.top", "segment", "K.target", "K.128", "sparsity-version", "scale-layout"}
LATEST |= {"scale-type.target", "scale-type.block", "K.dense"}


def test_rules(specification: Specification) -> None:
    """Their ids, which other people key on; and where each is lifted."""
    for kind, ids in IDS.items():
        rules = specification.descriptors[f"tcgen05.{kind}"].rules
        assert [rule.id for rule in rules] == ids, kind
        for rule in rules:
            gate = rule.lifted
            wanted = {"absolute.target": ("8.8", ("sm_103a",)), "K.96": ("8.8", ("sm_103a", "sm_107a"))}
            wanted |= dict.fromkeys(LATEST, ("9.4", ("sm_107f",)))
            assert (gate and (str(gate.since), gate.targets)) == wanted.get(rule.id), rule.id
            only = rule.only
            own = ("9.4", ("sm_107a",)) if rule.id == "sparsity-version.one" else None
            assert (only and (str(only.since), only.targets)) == own, rule.id
            for one in (gate, only):
                assert one is None or (one.deprecated is None and one.removed is None)


ALIASED = """
descriptors:
  a: {bits: 32, fields: {N: {what: n, low: 0, high: 3, unit: 1}}, settings: {ws: [0, 1]}, title: A, addresses: [],
    source: {section: "1"}, rules: [RULE]}
"""


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            '{id: a, holds: "M == 0", why: w, source: {section: "1"}}',
            "M in 'M == 0' is neither a field nor a setting",
        ),
        ('{id: a, holds: "N // ws == 0", why: w, source: {section: "1"}}', "can be 0"),
        (
            '{id: a, holds: "N == 0", why: w, source: {section: "1"}, lifted: {since: "8.0", deprecated: null, '
            "removed: null, targets: [sm_100a]}}",
            "the gate begins with PTX ISA 8.0",
        ),
        (
            '{id: a, holds: "N == 0", why: w, source: {section: "1"}}, '
            '{id: a, holds: "N == 1", why: w, source: {section: "1"}}',
            "the rule a stands twice",
        ),
    ],
)
def test_rules_that_are_refused(specification: Specification, rule: str, said: str) -> None:
    root = yaml.compose(ALIASED.replace("RULE", rule), Loader=yaml.SafeLoader)
    file = structure(root, DescriptorFile, "spec/descriptors.yaml")
    known = {**specification.descriptors, **file.descriptors}
    with pytest.raises(SpecError, match=re.escape(said)):
        check_memory(dataclasses.replace(specification, descriptors=known))
