"""The Python API: each function against check values typed by hand, and every mistake as a sentence."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxmma
from ptxmma.spec.sparse import choose_code, metadata_words

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S8 = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8"
SP = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
TF32 = "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
FENCE = "wgmma.fence.sync.aligned;"
UNWAITED = Path(__file__).parent / "check" / "unwaited.ptx"
api: Any = ptxmma  # what is asked wrongly on purpose has the wrong types


def test_what_is_exported_is_there() -> None:
    assert all(getattr(ptxmma, name) is not None for name in ptxmma.__all__)
    assert ptxmma.__version__ == importlib.metadata.version("ptxmma")
    with pytest.raises(AttributeError, match="nosuch"):
        _ = api.nosuch


def test_importing_is_cheap() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import sys, ptxmma; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(found.stdout.split())
    assert "ptxmma.spec.legality" in imported
    assert not imported & {"numpy", "yaml", "z3", "cvc5", "sympy", "importlib.metadata", "json", "difflib"}
    assert not any(name.startswith(("ptxmma.check.", "ptxmma.audit", "ptxmma.cli")) for name in imported)


def test_check_stays_a_function() -> None:
    """The folder `check` has the same name, and is imported by the first call."""
    program = (
        "import sys, ptxmma; path = sys.argv[1]; ptxmma.check(path); print(ptxmma.check(path).holds); "
        "from ptxmma.check.check_file import FileReport; print(ptxmma.FileReport is FileReport)"
    )
    words = [sys.executable, "-c", program, str(UNWAITED)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False\nTrue\n"


def test_variants() -> None:
    found = ptxmma.variants("wgmma.mma_async.sp.*m64n8k16*")
    assert [variant.mnemonic for variant in found] == [
        "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32"
    ]
    assert str(found[0].gate.since) == "8.2" and found[0].fields["k"] == 16
    assert repr(found[0]) == "Variant(wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32)"
    assert ptxmma.variants("wgmma.fence", ptx="7.8") == ()
    assert len(ptxmma.variants("wgmma.fence", ptx="8.0", target="sm_90a")) == 1
    assert ptxmma.variants("wgmma.fence", target="sm_80") == ()
    everything = ptxmma.variants()
    assert len(everything) > 2000 and len({variant.mnemonic for variant in everything}) == len(everything)


def test_a_verdict_is_true_if_it_is_legal() -> None:
    good, bad, odd = (
        ptxmma.legal(FENCE, "8.0", "sm_90a"),
        ptxmma.legal(FENCE, "7.8"),
        ptxmma.legal("add.u32 a, b, c;"),
    )
    assert (good.verdict, bad.verdict, odd.verdict) == ("legal", "illegal", "unknown")
    assert (bool(good), bool(bad), bool(odd)) == (True, False, False)
    assert (repr(good), repr(bad)) == ("Verdict(legal)", "Verdict(illegal; gate.since)")


def test_a_report_is_true_if_it_holds() -> None:
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    good, bad = (
        ptxmma.check(f"{head}.visible .entry k() {{ {line} ret; }}\n")
        for line in (FENCE, "wgmma.fence.sync;\n.reg .b32 %r<4>;\nwgmma.wait_group.sync.aligned -1;")
    )
    assert (bool(good), good.holds) == (True, True)
    assert (bool(bad), bad.holds) == (False, False)


def test_metadata_that_is_all_negative() -> None:
    """Eight codes 0b1110 (the last two of four) are 0xeeeeeeee, a negative number of 32 bits."""
    matrix = np.tile(np.array([0, 0, 1, 2], "i1"), (64, 16))
    found = ptxmma.compress(S8, matrix)
    assert {int(word) for word in found.metadata.ravel()} == {0xEEEEEEEE}
    for words in (found.metadata.view("i4"), found.metadata.astype("i8")):
        assert (ptxmma.decompress(S8, found.packed, words) == matrix).all()
    with pytest.raises(ptxmma.Question, match="more than 32 bits"):
        ptxmma.decompress(S8, found.packed, found.metadata.astype("i8") + (1 << 32))


def test_a_layout() -> None:
    """9.7.14.5.8: row groupID (i < 2) or groupID + 8, column threadID_in_group * 2 + (i & 1)."""
    layout = ptxmma.layout(MMA, "D")
    assert (layout.mnemonic, layout.operand, layout.shape, layout.threads) == (MMA, "D", (16, 8), 32)
    assert layout.names == ("thread", "element", "row", "col")
    assert repr(layout) == f"OperandLayout(D of {MMA}: 16 x 8, 32 threads)"
    wanted = [
        (thread, i, thread // 4 + (0 if i < 2 else 8), thread % 4 * 2 + (i & 1))
        for thread in range(32)
        for i in range(4)
    ]
    assert layout.points() == wanted
    for thread, element, *place in wanted:
        assert layout.position(thread, element) == tuple(place)
        holder = layout.holder(*place)
        assert (holder.thread, holder.element, holder.register, holder.bit) == (thread, element, element, 0)
    a = ptxmma.layout(MMA, "A").holder(9, 3)
    assert str(a) == "thread 5, element 3 (register 1, bits 16..31)"
    assert "T5:d3" in layout.text() and layout.svg().startswith("<svg") and ":" in layout.cute()
    assert "__device__" in layout.cuda() and "def " in layout.python()


def test_a_layout_with_a_selector() -> None:
    one = ptxmma.layout(SP, "metadata", selector=1)
    assert {point[0] % 4 // 2 for point in one.points()} == {1}
    with pytest.raises(ptxmma.Question, match="not a fragment"):
        one.holder(0, 0)


def sparse(rows: int, columns: int, chunk: int, keep: int, dtype: str) -> np.ndarray[Any, Any]:
    """A random matrix of the right sparsity, with a −0.0 in it."""
    random = np.random.default_rng(7)
    matrix = random.integers(1, 99, (rows, columns)).astype(dtype)
    matrix[random.random((rows, columns)) < 0.2] = 0
    for row in matrix.reshape(-1, chunk):
        row[random.permutation(chunk)[keep:]] = 0
    if dtype.startswith("f"):
        matrix[0, :chunk] = 0
        matrix[0, 1] = -0.0
    return matrix


@pytest.mark.parametrize(
    ("mnemonic", "selector", "chunk", "keep", "dtype", "tiles", "threads"),
    [
        (SP, 1, 4, 2, "f2", (2, 4), 128),
        (TF32, 1, 2, 1, "f4", (8, 16), 32),
        (S8, 0, 4, 2, "i1", (2, 2), 128),
    ],
)
def test_a_matrix_of_many_tiles(
    mnemonic: str,
    selector: int,
    chunk: int,
    keep: int,
    dtype: str,
    tiles: tuple[int, int],
    threads: int,
) -> None:
    matrix = sparse(128, 128, chunk, keep, dtype)
    found = ptxmma.compress(mnemonic, matrix, selector)
    assert found.packed.shape == (128, 128 * keep // chunk) and found.packed.dtype == matrix.dtype
    assert found.metadata.shape == (*tiles, threads) and found.metadata.dtype == np.uint32
    assert "\n" not in repr(found) and len(repr(found)) < 100
    back = ptxmma.decompress(mnemonic, found.packed, found.metadata, selector)
    assert back.tobytes() == matrix.tobytes()
    specification = ptxmma.load()
    variant = specification.find(mnemonic)
    form, layout = specification.sparsity_of(variant), specification.layout_of(variant, "metadata")
    parameters = specification.selector_parameters(layout, selector)
    m, k = 128 // tiles[0], 128 // tiles[1]
    occupied = matrix.view(f"u{matrix.itemsize}") != 0
    for down in range(tiles[0]):
        for across in range(tiles[1]):
            tile = occupied[down * m : (down + 1) * m, across * k : (across + 1) * k]
            codes = [
                [choose_code(form, row[start : start + chunk].tolist()) or 0 for start in range(0, k, chunk)]
                for row in tile
            ]
            assert found.metadata[down, across].tolist() == metadata_words(form, layout, parameters, codes)


def test_minus_zero_is_a_value() -> None:
    matrix = np.zeros((64, 32), np.float16)
    matrix[0, 1] = -0.0
    found = ptxmma.compress(SP, matrix, 0)
    assert np.signbit(found.packed).sum() == 1
    assert np.signbit(ptxmma.decompress(SP, found.packed, found.metadata, 0)[0, 1])


def test_selectors_are_named_and_asked_for_where_there_are_several() -> None:
    matrix = np.zeros((64, 32), np.float16)
    found = ptxmma.compress(SP, matrix, 1)
    assert found.selector == 1
    assert repr(found) == "SparseMatrix(packed 64 x 16 float16, metadata 1 x 1 x 128, selector 1)"
    assert repr(ptxmma.layout(SP, "metadata", selector=1)).startswith(
        f"OperandLayout(metadata (selector 1) of {SP}: "
    )
    only = ptxmma.compress(S8, np.zeros((64, 64), np.int8))
    assert only.selector == 0
    assert not ptxmma.decompress(S8, only.packed, only.metadata).any()


def test_metadata_of_several_tiles_may_be_flat() -> None:
    matrix = sparse(128, 64, 4, 2, "f2")
    found = api.compress(SP, matrix, np.int64(1))
    back = ptxmma.decompress(SP, found.packed, found.metadata.ravel(), 1)
    assert back.tobytes() == matrix.tobytes()
    signed = found.metadata.astype(np.int32)
    assert ptxmma.decompress(SP, found.packed, signed, 1).tobytes() == matrix.tobytes()


def test_reprs_are_a_line() -> None:
    variant = ptxmma.variants("wgmma.fence")[0]
    values = [ptxmma.load(), variant, variant.gate, variant.row, *ptxmma.check(UNWAITED).findings]
    for value in values:
        assert "\n" not in repr(value) and len(repr(value)) < 120
    assert repr(variant.gate) == "EffectiveGate(since 8.0, on 1 targets)"


def test_a_descriptor() -> None:
    found = ptxmma.descriptor(start_address=1024, stride_dimension_byte_offset=1024, swizzle_mode="128B")
    assert int(found) == found.word == 1024 >> 4 | (1024 >> 4) << 32 | 1 << 62
    assert ptxmma.descriptor(found.word).fields == found.fields
    assert found.fields["start-address"] == 1024
    assert repr(found).startswith("MatrixDescriptor(0x4000004000000040: start_address=1024, ")


def test_a_kernel_as_a_path_and_as_text() -> None:
    report = ptxmma.check(UNWAITED)
    assert "accumulator-in-flight" in [finding.rule for finding in report.findings]
    assert not report.holds
    assert repr(report) == f"FileReport({UNWAITED}: 2 findings, holds=False)"
    text = UNWAITED.read_text()
    assert [f.rule for f in ptxmma.check(text).findings] == [f.rule for f in report.findings]
    empty = ptxmma.check(".version 8.0\n.target sm_90a\n.address_size 64\n")
    assert empty.holds and empty.findings == ()


def test_what_changed() -> None:
    changes = ptxmma.diff("8.3", "8.4", "wgmma.mma_async.sp", "sm_90a")
    assert {change.kind for change in changes} == {"added"}
    assert {v.fields["k"] for change in changes for v in change.variants} == {64}
    assert "\n" not in repr(changes[0]) and len(repr(changes[0])) < 120
    assert ptxmma.diff("8.4", "8.4") == ()


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: api.variants(ptx=8.3), "ptx must be a string: '8.3'"),
    (lambda: api.variants(ptx=8), "ptx must be a string such as '8.0', not 8"),
    (lambda: api.variants(ptx=True), "ptx must be a string, not True"),
    (lambda: api.variants(ptx=""), "'' is not a PTX ISA version"),
    (lambda: api.variants(["mma"]), "pattern must be a string, not"),
    (lambda: api.variants(version="8.0"), r"unexpected keyword argument 'version'; it is variants\(pattern"),
    (lambda: api.variants("a", "8.0", "sm_90", 1), "takes from 0 to 3 positional arguments but 4 were given"),
    (lambda: api.load(3), "takes 0 positional arguments"),
    (lambda: api.variants(target=90), "target must be a string: write 'sm_90' or 'sm_90a', not 90"),
    (lambda: api.variants(target=7), "write one such as 'sm_90a', not 7"),
    (lambda: api.variants(target=b"sm_90a"), "target must be a string, not b'sm_90a'"),
    (lambda: api.variants(target=["sm_90a"]), "target must be a string, not"),
    (lambda: api.variants(7), "pattern must be a string"),
    (lambda: api.variants(ptx="99.9"), "99.9 is not known"),
    (lambda: api.variants(target="sm_9"), "'sm_9' is not known"),
    (lambda: api.legal(FENCE, 8.0), "ptx must be a string: '8.0'"),
    (lambda: api.legal(FENCE, "8.0", 90), "'sm_90'"),
    (lambda: api.legal(FENCE, "8.0", 9.0), "target must be a string, not 9.0"),
    (lambda: api.legal(FENCE, "sm_90a", "8.0"), "the version comes before the target"),
    (lambda: api.legal(FENCE, None, "8.0"), "target is '8.0', which is a version"),
    (lambda: api.legal("8.0", FENCE), "not a version like '8.4'; the statement comes first"),
    (lambda: api.legal(), "missing 1 required positional argument: 'statement'; it is legal"),
    (lambda: api.legal(FENCE, isa="8.0"), "unexpected keyword argument 'isa'"),
    (lambda: api.legal(b"x"), "statement must be a string, not b'x'"),
    (lambda: api.legal(FENCE, ["8.0"]), "ptx must be a string, not"),
    (lambda: api.legal(FENCE, target="SM_90A"), "did you mean sm_90a"),
    (lambda: api.legal(None), "statement must be a string"),
    (lambda: api.layout("D", MMA), "operand is the mnemonic .*the mnemonic comes first"),
    (lambda: api.layout("D", "A"), "mnemonic is 'D'; the mnemonic comes first"),
    (lambda: api.layout("", "D"), "the mnemonic is empty"),
    (lambda: api.layout("mma", "D"), "mma is not a whole mnemonic: [0-9]+ match; `ptxmma list mma`"),
    (lambda: api.layout("HMMA", "D"), "nothing matches 'HMMA'; did you mean mma"),
    (lambda: api.layout(MMA), "missing 1 required positional argument: 'operand'; it is layout"),
    (lambda: api.layout(MMA, ["D"]), "operand must be a string, not"),
    (lambda: api.layout(MMA, "D").position([1], 2), "thread must be an integer, not"),
    (lambda: api.layout(MMA, "D").position(1), "missing 1 required positional argument: 'element'"),
    (lambda: api.layout(MMA, "D").position(1.0, 2), "thread must be an integer, not 1.0"),
    (lambda: api.layout(MMA, "D").holder(1), "is asked by row and col, not by 1 value"),
    (lambda: api.layout(MMA, "D").holder(16, 0), "it has row 0..15, col 0..7"),
    (lambda: api.layout(MMA, "D").position(32, 0), "it has thread 0..31, element 0..3"),
    (lambda: api.layout(MMA, "D").holder([1], 2), "row must be an integer"),
    (lambda: api.layout(MMA, "D").text("x"), "width must be an integer"),
    (lambda: api.layout(MMA, 3), "operand must be a string, not 3"),
    (lambda: api.layout(None, "D"), "mnemonic must be a string"),
    (lambda: api.layout(MMA, "E"), "no layout for 'E'"),
    (lambda: api.layout(SP, "metadata"), "needs selector= one of 0, 1"),
    (lambda: api.layout(SP, "metadata", selector=9), "selector is 9"),
    (lambda: api.layout(SP, "metadata", selector="1"), "selector must be an integer"),
    (lambda: api.layout(MMA, "D", selector=1), "no selector 'selector'"),
    (lambda: api.layout(MMA, "D").position(32, 0), "no element 0 of thread 32"),
    (lambda: api.layout(MMA, "D").holder(16, 0), r"no element at \(16, 0\)"),
    (lambda: api.layout(MMA, "D").holder("x", 1), "row must be an integer, not 'x'"),
    (lambda: api.compress(np.zeros((64, 32)), SP), "mnemonic must be a string, not a value of type ndarray"),
    (lambda: api.compress(SP, SP), "the mnemonic comes first"),
    (lambda: api.compress(MMA, np.zeros((16, 16))), "mma"),
    (lambda: api.compress(SP, np.zeros((64, 33)), 0), "must be a multiple of 64 x 32"),
    (lambda: api.compress(SP, np.zeros(64), 0), "must be a multiple of 64 x 32"),
    (lambda: api.compress(SP, np.zeros((0, 32)), 0), "must be a multiple of 64 x 32"),
    (lambda: api.compress(SP, np.ones((64, 32)), 0), "row 0, chunk 0"),
    (lambda: api.compress(SP, [[1, 2], [3]], 0), "rows of matrix must be of one length"),
    (lambda: api.compress(SP, [["a"] * 32] * 64, 0), "numbers of at most 64 bits"),
    (lambda: api.compress(SP, np.zeros((64, 32), complex), 0), "numbers of at most 64 bits"),
    (lambda: api.compress(SP, np.zeros((64, 32)), "0"), "selector must be an integer, not '0'"),
    (lambda: api.compress(SP, np.zeros((64, 32)), 2), "selector is 2; it must be 0 or 1"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.zeros(127, "u4"), 0), "must be 1 x 1 x 128 integers"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.zeros(128), 0), "must be 1 x 1 x 128 integers"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.zeros(128, "u4"), 0), "the code 0b0000 is not valid"),
    (lambda: api.compress(SP, np.zeros((64, 32))), "needs selector= one of 0, 1"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.zeros(128, "u4")), "needs selector= one of 0, 1"),
    (lambda: api.compress(SP, np.zeros((64, 32)), True), "selector must be an integer, not True"),
    (lambda: api.compress(SP, np.zeros((64, 32)), selektor=1), "unexpected keyword argument 'selektor'"),
    (lambda: api.compress(SP, np.zeros((64, 32), bool), 0), "matrix holds bool"),
    (lambda: api.compress(SP, None, 0), "matrix must be an array of numbers, not None"),
    (lambda: api.compress(MMA, np.zeros((64, 32))), f"{MMA} is not sparse"),
    (lambda: api.compress(SP, np.float16(1), 0), "the matrix is one number; "),
    (lambda: api.compress(SP, np.ones((64, 32)), 0), " has 4 non-zero elements; it may have 2"),
    (lambda: api.decompress(SP, api.compress(SP, np.zeros((64, 32)), 0), 0), "packed is a SparseMatrix"),
    (lambda: api.descriptor(kind="tcgen05.f16", M=256, cta_group="x"), "cta_group must be an integer"),
    (lambda: api.descriptor(kind="tcgen05.f16", M=256, N=64, cta_group=1), "one CTA takes an M of 64 or 128"),
    (lambda: api.legal("wgmma.fence.sync.aligned;", idesc=1), "takes no instruction descriptor"),
    (lambda: api.descriptor(foo=1), "has no field 'foo'; it has start_address, leading_"),
    (lambda: api.descriptor(start_addres=1), "no field 'start_addres'; did you mean start_address?"),
    (lambda: api.descriptor(1 << 14), "the reserved bit 14 is set; it must be 0"),
    (lambda: api.compress(SP, 3, 0), "must be a multiple of 64 x 32"),
    (lambda: api.compress("mma.sp", np.zeros((64, 32))), "mma.sp is not a whole mnemonic: [0-9]+ match"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.zeros((128, 1), "u4"), 0), "not 128 x 1 of uint32"),
    (lambda: api.decompress(SP, np.zeros((64, 16)), np.full(128, 1 << 32), 0), "more than 32 bits"),
    (lambda: api.decompress(SP, np.zeros((64, 17)), np.zeros(128, "u4"), 0), "multiple of 64 x 16"),
    (lambda: api.descriptor(1.5), "a descriptor must be an integer, not 1.5"),
    (lambda: api.descriptor(swizzle_mode="64X"), "'64X' is not a value; it must be none, 128B"),
    (lambda: api.descriptor(start_address=[1]), "start_address must be an integer"),
    (lambda: api.descriptor(1, 2), "takes from 0 to 1 positional arguments but 2"),
    (lambda: api.descriptor("0x40"), "a descriptor must be an integer"),
    (lambda: api.descriptor(-1), "not a 64-bit word"),
    (lambda: api.descriptor(1 << 15), "15"),
    (lambda: api.descriptor(0, start_address=16), "not both"),
    (lambda: api.descriptor(start=16), "no field 'start'"),
    (lambda: api.descriptor(start_address=8), "not a multiple of 16"),
    (lambda: api.descriptor(start_address=16.0), "start_address must be an integer"),
    (lambda: api.descriptor(kind="x"), "no descriptor 'x'"),
    (lambda: api.check("/no/such/file.ptx"), "/no/such/file.ptx"),
    (lambda: api.check(""), "check needs a path or PTX text, not an empty string"),
    (lambda: api.check("a\0b"), "null"),
    (lambda: api.check("."), "Is a directory"),
    (lambda: api.check(".version 8.0"), "PTX text has several lines"),
    (lambda: api.check(UNWAITED, sm="sm_90a"), "unexpected keyword argument 'sm'"),
    (lambda: api.check(3), "path or PTX text, not 3"),
    (lambda: api.check(b"x\n"), "path or PTX text"),
    (lambda: api.check("no\nPTX"), "<text>"),
    (lambda: api.check(UNWAITED, 90), "'sm_90'"),
    (lambda: api.check(UNWAITED, "sm_9"), "'sm_9' is not known"),
    (lambda: api.diff(8.3, "8.4"), "old must be a string: '8.3'"),
    (lambda: api.diff("8.3", 8), "new must be a string such as '8.0', not 8"),
    (lambda: api.diff("8.3"), "missing 1 required positional argument: 'new'"),
    (lambda: api.diff("8.3", "sm_90a"), "the version comes before the target"),
    (lambda: api.diff("8.3", "8.4", "nosuch"), "nothing matches 'nosuch'"),
    (lambda: api.diff("8.3", "8.4", 3), "pattern must be a string"),
    (lambda: api.diff("8.3", "8.4", target=90), "'sm_90'"),
]


@pytest.mark.parametrize(("ask", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_a_mistake_is_told_in_a_sentence(ask: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ptxmma.Question, match=sentence) as raised:
        ask()
    assert isinstance(raised.value, ptxmma.PtxmmaError)
    assert "\n" not in str(raised.value)


def test_a_package_that_is_not_installed_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ptxmma.Question, match=r"^the Python package numpy is missing; `pip install ptxmma`"):
        api.dot(MMA, [[0] * 16], [[0] * 16])
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ptxmma.gen.arithmetic.dot_products", None)
    with pytest.raises(ModuleNotFoundError):  # a fault of ours stays one
        api.dot(MMA, [[0] * 16], [[0] * 16])


def test_numerics() -> None:
    """Of f32 results of f16: 16 products and C; 2^24 + 1 is not in f32. And of integers, which have no error."""
    (kind,) = ptxmma.numerics(MMA)
    (bound,) = kind.bounds
    lost = 15 * (1 - Fraction(1, 1 << 20)) + 1 - Fraction(1, 1 << 24)
    assert (bound.cut, bound.window, bound.digits, bound.nearest) == (lost, 25, 24, False)
    assert (kind.row, kind.instruction, kind.mnemonic, kind.mnemonics) == ("mma.float", "mma", MMA, 1)
    assert (kind.types["A"], kind.types["D"], kind.products) == ("f16", "f32", 16)
    assert (kind.one_is_lost_at, kind.wraps) == (1 << 24, False)
    (integers,) = ptxmma.numerics("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", target="sm_90")
    assert (integers.bounds, integers.one_is_lost_at, integers.wraps) == ((), (1 << 31) - 1, True)
    with pytest.raises(ptxmma.Question, match="computes products"):
        ptxmma.numerics("wgmma.fence")
    with pytest.raises(ptxmma.Question, match="not measured"):
        ptxmma.numerics(MMA, target="sm_80")
    with pytest.raises(ptxmma.Question, match="sm_9"):
        ptxmma.numerics(MMA, target="sm_9")


def test_a_layout_in_tensor_memory() -> None:
    """Data path D: a row a lane. 32x32b has lane 70 in thread 6 of warp 2; 16x64b in thread 4*6 + 0, element 1."""
    product = "tcgen05.mma.cta_group::1.kind::f16"
    by_word, by_numbers = (
        ptxmma.layout(product, "D", idesc=0x08200010),
        ptxmma.layout(product, "D", m=128, n=128),
    )
    assert by_word.points() == by_numbers.points()
    assert (by_word.id, by_word.parameters, by_word.threads) == ("tcgen05.d.D", {"n": 128}, 0)
    assert by_word.names == ("lane", "column", "row", "col")
    assert by_word.where(lane=70, column=2) == by_word.where(row=70, col=2) == [(70, 2, 70, 2)]
    found = {one.layout: (one.warp, one.lane, one.thread, one.element) for one in by_word.loads(70, 2)}
    assert found["tcgen05.ld.32x32b"] == (2, 64, 6, 2)
    assert found["tcgen05.ld.16x64b"] == (2, 64, 24, 1)
    assert "127,127" in by_word.svg()
    assert ptxmma.layout("tcgen05.ld.sync.aligned.32x32b.x8.b32", "r").position(5, 3) == (5, 3)
    for ask, why in (
        (lambda: by_word.position(1, 1), "ask where"),
        (lambda: by_word.holder(1, 1), "ask where"),
        (lambda: by_word.where(thread=1), "has no thread; ask by lane, column, row, col"),
        (lambda: by_word.where(lane=128), "takes no part"),
        (lambda: ptxmma.layout(product, "A", idesc=0xFFFFFFFF), "is not an instruction descriptor"),
        (lambda: ptxmma.layout(product, "D"), "m must be given: 64 or 128"),
        (lambda: ptxmma.layout("tcgen05.shift.cta_group::1.down", "taddr").loads(0, 0), "has no row"),
    ):
        with pytest.raises(ptxmma.PtxmmaError, match=why):
            ask()


def test_no_sums_of_a_product_that_a_descriptor_says() -> None:
    product, sparse = "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.mma.sp.cta_group::1.kind::f16"
    matrix = np.zeros((128, 32), dtype="float16")
    for ask, why in (
        (lambda: ptxmma.dot(product, [1], [1]), "no chip that has it was measured"),
        (lambda: ptxmma.numerics(product), "no chip that has it was measured"),
        (lambda: ptxmma.compress(sparse, matrix), "no coding is known for the mnemonic"),
        (lambda: ptxmma.decompress(sparse, matrix, np.zeros(3, dtype="uint32")), "no coding is known"),
    ):
        with pytest.raises(ptxmma.PtxmmaError, match=why):
            ask()
