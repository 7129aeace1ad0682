"""numpy and compiled C give the bits of the definition; and the definition those of IEEE 754 and of exact sums."""

from __future__ import annotations

import functools
import subprocess
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ptxmma
from ptxmma.formal.plans import plans
from ptxmma.gen.arithmetic import compiled_sums, dot_products
from ptxmma.gen.arithmetic.compiled_sums import CompiledSums, compiler
from ptxmma.gen.arithmetic.numpy_sums import NumpySums
from ptxmma.gen.suite.reference import Reference, drawn
from ptxmma.spec.arithmetic import arithmetic, arithmetic_of
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.errors import Question
from ptxmma.spec.parts import computes
from ptxmma.spec.patterns import decode, encode
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

WATCHES = ("spec/arithmetic/*.yaml",)
TARGET = "sm_90a"
MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"


@functools.cache
def variants() -> dict[str, Variant]:
    """One variant for every row, type set and number of products."""
    found: dict[object, Variant] = {}
    for variant in ptxmma.variants(target=TARGET):
        fields = variant.fields
        if (
            computes(variant.instruction)
            and fields.get("n", 8) in (8, 16, 32)
            and fields.get("alayout", "row") == "row"
        ):
            known = arithmetic_of(variant, TARGET)
            last = known.blocks[-1]
            key = (known.row.id, *known.types.values(), known.products, *last.integers.values())
            found.setdefault(key, variant)
    return {variant.mnemonic: variant for variant in found.values()}


def codes(
    specification: Specification, known: ChipArithmetic, random: Random, jobs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bit patterns of A, B and C: any; narrow ones, cancelling pairs, gaps about the window, subnormals, specials."""
    wide = []
    for part, count in (("A", known.products), ("B", known.products), ("C", 1)):
        element = known.types[part]
        bits, form = specification.index.types[element].bits, specification.formats.get(element)
        rows = [[random.getrandbits(bits) for _ in range(count)] for _ in range(jobs)]
        if form is not None:
            sign, one = 1 << bits - 1, form.bias << form.fraction
            low = [0, sign, 1, sign | 1, (1 << form.fraction) - 1, 1 << form.fraction]
            for job, row in enumerate(rows):
                top = min(
                    form.bias + random.choice((0, 12, 13, 14, 24, 25, 26, 40)), (1 << form.exponent) - 2
                )
                for i in range(count):
                    near = random.choice((sign, 0)) | random.getrandbits(form.fraction)
                    row[i] = {
                        1: near | one,
                        2: random.choice((near | one, near | top << form.fraction)),
                        3: random.choice(low) | random.choice((0, sign)),
                        4: random.choice((0, sign)) | one,
                    }.get(job % 6, row[i] >> form.ignored) << form.ignored
                if job % 6 == 2 and part == "A":
                    row[1::2] = [code ^ sign for code in row[: len(row) // 2 * 2 : 2]]
        wide.append(np.array(rows, np.uint64))
    wide[1][2::6, 1::2] = wide[1][2::6, : known.products // 2 * 2 : 2]
    return wide[0], wide[1], wide[2][:, 0]


def by_definition(
    specification: Specification,
    known: ChipArithmetic,
    given: tuple[np.ndarray, ...],
    negated: tuple[bool, bool],
) -> list[int]:
    definition = DotProduct(specification, known)
    found = []
    for a, b, c in zip(*given, strict=True):
        x, y = ([ElementCode(int(e), n) for e in part] for part, n in ((a, negated[0]), (b, negated[1])))
        found.append(definition.code(x, y, int(c)))
    return found


def test_every_row_is_here(specification: Specification) -> None:
    rows = {arithmetic_of(variant, TARGET).row.id for variant in variants().values()}
    assert rows == {row.id for family in arithmetic().families for row in family.rows}
    assert len(variants()) > 90


def test_readings_agree(
    specification: Specification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a few jobs of each variant the definition, numpy and (of a few variants) compiled C; more by the two."""
    random = Random(2)
    negations = ((False, False), (True, False), (False, True), (True, True))
    for number, variant in enumerate(variants().values()):
        known = arithmetic_of(variant, TARGET)
        given = codes(specification, known, random, 6 if known.products < 100 else 2)
        negated = negations[number % 4] if variant.mnemonic.startswith("wgmma") else (False, False)
        got = NumpySums(specification, known).codes(*given, negated=negated)
        assert got.tolist() == by_definition(specification, known, given, negated), variant.mnemonic


COMPILED = (
    MMA,
    "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m16n8k4.row.col.rp.f64.f64.f64.f64",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
    "wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8",
)


@pytest.mark.skipif(compiler() is None, reason="no compiler")
@pytest.mark.parametrize("mnemonic", COMPILED)
def test_compiled(
    specification: Specification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mnemonic: str
) -> None:
    monkeypatch.setattr(compiled_sums, "cache_folder", lambda: tmp_path / "cache")
    (variant,) = ptxmma.variants(mnemonic)
    known = arithmetic_of(variant, TARGET)
    given = codes(specification, known, Random(3), 603)
    compiled = CompiledSums(specification, known, compiler() or "")
    got = compiled.codes(*given)
    assert got is not None and got.tolist() == NumpySums(specification, known).codes(*given).tolist()
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".so"]
    broken = CompiledSums(specification, known, "/bin/false")
    assert broken.codes(*given) is None


def test_where_nothing_compiles_numpy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot_products, "compiler", lambda: None)
    (variant,) = ptxmma.variants(MMA)
    sums = dot_products.SumsOfProducts(variant, TARGET)
    ones = np.full((1, 8), 0x3C00, np.uint64)
    assert sums.results(ones, ones, np.zeros(1, np.uint64), (False, False)).tolist() == [0x41000000]


@pytest.mark.skipif(compiler() is None, reason="no compiler")
@pytest.mark.parametrize("held", [b"no library", "int sums = 1;", "void sums_of_products(void) {}"])
def test_a_library_that_is_none_or_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bytes | str
) -> None:
    """What is no library, or has no such function, is compiled again; one that gives other bits is not used."""
    monkeypatch.setattr(compiled_sums, "cache_folder", lambda: tmp_path)
    (variant,) = ptxmma.variants(MMA)
    sums = dot_products.SumsOfProducts(variant, TARGET)
    assert sums.compiled is not None
    if isinstance(held, bytes):
        sums.compiled.path.write_bytes(held)
    else:
        (tmp_path / "other.c").write_text(held, encoding="utf-8")
        command = [compiler() or "", "-shared", "-o", str(sums.compiled.path), str(tmp_path / "other.c")]
        subprocess.run(command, check=True)
    ones = np.full((3, 8), 0x3C00, np.uint64)
    given = sums.results(ones, ones, np.zeros(3, np.uint64), (False, False))
    assert given.tolist() == [0x41000000] * 3
    assert (sums.compiled is None) == (held == "void sums_of_products(void) {}")


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f64_is_a_chain_of_fused_multiply_adds(specification: Specification, mode: str) -> None:
    """Held against exact rationals, rounded by other code."""
    (variant,) = ptxmma.variants(f"mma.sync.aligned.m8n8k4.row.col.{mode}.f64.f64.f64.f64")
    known, form, random = arithmetic_of(variant, TARGET), specification.formats["f64"], Random(4)

    def element() -> int:
        exponent = random.choice((1023, 1000, 970, 0, 1)) + random.randrange(3)
        return (
            random.getrandbits(1) << 63
            | exponent << 52
            | random.getrandbits(52) >> random.choice((0, 45)) << 20 & ((1 << 52) - 1)
        )

    for _ in range(60):
        a, b, c = [element() for _ in range(4)], [element() for _ in range(4)], element()
        wanted = c
        for x, y in zip(a, b, strict=True):
            values = [decode(form, code) for code in (x, y, wanted)]
            numbers = [value for value in values if isinstance(value, Fraction)]
            total = numbers[0] * numbers[1] + numbers[2]
            if total == 0 or abs(total) > Fraction(2) ** 1000:
                break
            wanted = encode(form, total, mode)
        else:
            got = DotProduct(specification, known).code(
                [ElementCode(x) for x in a], [ElementCode(y) for y in b], c
            )
            assert decode(form, got) == decode(form, wanted)


def test_exact_plans_are_exact_on_the_chip(specification: Specification) -> None:
    """What the text leaves only one result for, a chip computed so (the 28,262 cases of the suite): so must a model."""
    random = Random(5)
    tried = 0
    for variant in variants().values():
        if "scale-a" in variant.layouts or variant.row.row.tolerated:
            continue
        known, reference = arithmetic_of(variant, TARGET), Reference(specification, variant)
        k = int(variant.fields["k"])
        rows, columns, added, results = [], [], [], []
        for plan in plans(specification, variant):
            (row,) = drawn(reference, plan, "A", 1, known.products, random)
            whole = drawn(reference, plan, "B", k, 1, random)
            ((added_to,),) = drawn(reference, plan, "C", 1, 1, random)
            metadata = None
            column = [line[0] for line in whole]
            if reference.sparsity is not None:
                code = specification.codes_of(variant)[0]
                metadata = [[code] * (k // reference.sparsity.chunk)]
                column = met(specification, variant, column)
            results += reference.result([row], whole, [[added_to]], codes=metadata)[0]
            rows.append(row)
            columns.append(column)
            added.append(added_to)
        a, b, c = (np.array(part, np.uint64) for part in (rows, columns, added))
        got = NumpySums(specification, known).codes(a, b, c).tolist()
        assert all(map(reference.same, got, results)), variant.mnemonic
        tried += len(got)
    assert tried > 450


def met(specification: Specification, variant: Variant, column: list[int]) -> list[int]:
    """The elements of B that the stored elements of A meet, under the first valid code."""
    from ptxmma.spec.sparse import positions

    sparsity = specification.sparsity_of(variant)
    chosen = positions(sparsity, specification.codes_of(variant)[0])
    return [column[start + at] for start in range(0, len(column), sparsity.chunk) for at in chosen]


ONES = [[0x3C00] * 8]


def test_dot() -> None:
    assert ptxmma.dot(MMA, ONES, [[0x4000] * 8], [0x3F800000]).tolist() == [0x41880000]  # 17
    found = ptxmma.dot(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        [[0x3C00] * 16],
        [[0x4000] * 16],
        scale_a=-1,
    )
    assert found.dtype == np.uint32 and found.tolist() == [0xC2000000]  # -32
    assert ptxmma.dot(MMA, np.zeros((0, 8), int), np.zeros((0, 8), int)).tolist() == []


@pytest.mark.parametrize(
    ("words", "options", "why"),
    [
        ((ONES, [[1] * 7]), {}, r"b has the shape \(1, 7\); it must be \(1, 8\)"),
        (([1] * 8, ONES), {}, r"a has the shape \(8,\); it must be \(jobs, 8\)"),
        ((ONES, ONES, [[1]]), {}, r"c has the shape \(1, 1\); it must be \(1,\)"),
        (([[65536] * 8], ONES), {}, "a holds 0x10000; a bit pattern of .f16 has 16 bits"),
        ((ONES, ONES, [-1]), {}, "c holds -0x1; a bit pattern of .f32 has 32 bits"),
        (([[1.0] * 8], ONES), {}, "a holds float64; bit patterns are unsigned integers"),
        ((ONES, ONES), {"scale_a": -1}, "cannot negate A; its scale must be 1"),
        ((ONES, ONES), {"scale_b": 3}, "the scale of B is 3; it must be 1 or -1"),
        ((ONES, ONES), {"target": "sm_80"}, f"no model of {MMA} on sm_80: not measured"),
        ((ONES, ONES), {"target": "sm_8"}, "sm_8"),
        ((ONES, "x"), {}, "b is text"),
    ],
)
def test_dot_refuses(words: tuple[object, ...], options: dict[str, object], why: str) -> None:
    with pytest.raises(Question, match=why):
        ptxmma.dot(MMA, *words, **options)  # type: ignore[arg-type]


def test_dot_needs_products() -> None:
    with pytest.raises(Question, match="computes no products"):
        ptxmma.dot("movmatrix.sync.aligned.m8n8.trans.b16", ONES, ONES)
