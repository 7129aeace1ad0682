"""mma.sp against the text (9.7.14.6) and an H200's results; every check value is typed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import ptxmma
from ptxmma.gen.pictures.tables import table_of
from ptxmma.spec.errors import Question
from ptxmma.spec.specification import METADATA_ORDER, Specification

WATCHES = (
    "specs.yaml",
    "spec/instructions/mma.sp.yaml",
    "spec/layouts/*.yaml",
    "spec/sparsity.yaml",
    "spec/addresses.yaml",
    "spec/descriptors.yaml",
)

Run = Callable[..., tuple[int, str, str]]
SP = "mma.sp.sync.aligned"
ORDERED = "mma.sp::ordered_metadata.sync.aligned"
MXF4 = f"{ORDERED}.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = f"{ORDERED}.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF8 = f"{ORDERED}.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e3m2.e2m1.f32.ue8m0"
# shape, types, columns of a chunk, stored of them, selectors, bits of an element in a register
FORMS = [
    ("m16n8k16", "f32.f16.f16.f32", 4, 2, 4, 16),
    ("m16n8k16", "f16.f16.f16.f16", 4, 2, 4, 16),
    ("m16n8k16", "f32.bf16.bf16.f32", 4, 2, 4, 16),
    ("m16n8k32", "f32.f16.f16.f32", 4, 2, 2, 16),
    ("m16n8k32", "f32.bf16.bf16.f32", 4, 2, 2, 16),
    ("m16n8k8", "f32.tf32.tf32.f32", 2, 1, 4, 32),
    ("m16n8k16", "f32.tf32.tf32.f32", 2, 1, 2, 32),
    ("m16n8k32", "s32.s8.u8.s32", 4, 2, 2, 8),
    ("m16n8k64", "s32.u8.s8.s32", 4, 2, 1, 8),
    ("m16n8k64", "f32.e4m3.e5m2.f32", 4, 2, 1, 8),
    ("m16n8k64", "s32.s4.u4.s32", 8, 4, 2, 4),
    ("m16n8k128", "s32.u4.s4.s32", 8, 4, 1, 4),
]


def k_of(shape: str) -> int:
    return int(shape.split("k")[1])


def operands(shape: str, types: str, width: int, selector: int = 0) -> str:
    """Vectors as the text counts them: A packed, B of all of K, 128 elements of C and D."""
    a, b = 16 * k_of(shape) // 2 * width // 1024, 8 * k_of(shape) * width // 1024
    c = 2 if types.startswith("f16") else 4
    vectors = (
        "{" + ", ".join(f"{n}{i}" for i in range(m)) + "}" for n, m in zip("dabc", (c, a, b, c), strict=True)
    )
    return f"{', '.join(vectors)}, e, {selector};"


def verdict(statement: str, ptx: str = "9.5", target: str = "sm_120a") -> str:
    return ptxmma.legal(statement, ptx, target).verdict


def test_counts(specification: Specification) -> None:
    """9.7.14.6.3, form by form: two variants of what came before 8.7, ordered only of what came then."""
    both = 2 + 2 + 1 + 1 + 1 + 1 + 8 + 8 + 8 + 8 + 4  # f16, bf16, tf32, 8-bit, 4-bit, fp8
    f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 = 25 * 2, 25 * 2, 2, 1 + 2
    listed = list(specification.families["mma.sp"].listed())
    assert len(listed) == 2 * both + f8f6f4 + mxf8f6f4 + mxf4 + mxf4nvf4
    assert len({variant.mnemonic for variant in listed}) == len(listed)


@pytest.mark.parametrize("variant", [SP, ORDERED])
@pytest.mark.parametrize(("shape", "types", "chunk", "stored", "selectors", "width"), FORMS)
def test_forms_and_selectors(
    variant: str, shape: str, types: str, chunk: int, stored: int, selectors: int, width: int
) -> None:
    """One thread of four: selectors 0 to 3; a pair: 0 and 1; all four: 0 only."""
    mnemonic = f"{variant}.{shape}.row.col.{types}"
    for selector in range(-1, 5):
        expected = "legal" if 0 <= selector < selectors else "illegal"
        assert verdict(f"{mnemonic} {operands(shape, types, width, selector)}") == expected
    assert verdict(f"{mnemonic} {operands(shape, types, width)}".replace(", 0;", ", r;")) == "illegal"
    assert verdict(f"{mnemonic} {operands(shape, types, 2 * width)}") == "illegal"


@pytest.mark.parametrize("variant", [SP, ORDERED])
@pytest.mark.parametrize(("shape", "types", "chunk", "stored", "selectors", "width"), FORMS)
def test_metadata(
    specification: Specification,
    variant: str,
    shape: str,
    types: str,
    chunk: int,
    stored: int,
    selectors: int,
    width: int,
) -> None:
    """Measured on an H200 by flipping every bit alone: where row, chunk and bit of the code lie."""
    found = specification.find(f"{variant}.{shape}.row.col.{types}")
    chunks = k_of(shape) // chunk
    for z in range(selectors):
        table = table_of(specification, found, "metadata", None, {"s": z})
        assert len(table.entries) == 16 * chunks * 4
        for lane, bit, row, c, slot, index_bit in table.entries:
            hi, code_bit = row // 8, index_bit + (0 if chunk == 2 else 2 * slot)
            if width >= 16 and chunks == 4:
                holder = 4 * (row % 8) + z, 16 * hi + 4 * c
            elif width >= 16:
                holder = 4 * (row % 8) + 2 * z + c // 4, 16 * hi + 4 * (c % 4)
            elif chunks == 8:
                holder = 4 * (row % 8) + 2 * z + hi, 4 * c
            else:
                holder = 4 * (row % 8) + 2 * (c // 8) + hi, 4 * (c % 8)
            assert (lane, bit) == (holder[0], holder[1] + code_bit)
    with pytest.raises(Question):
        table_of(specification, found, "metadata", None, {"s": selectors})


# 9.7.14.6.2: rows of packed A, and the first of the columns that its elements come from
FIRST: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "m16n8k16 16": lambda t, i: (t // 4 + (0 if i < 2 else 8), t % 4 * 4),
    "m16n8k32 16": lambda t, i: (
        t // 4 + (0 if 0 <= i < 2 or 4 <= i < 6 else 8),
        t % 4 * 4 + (0 if i < 4 else 16),
    ),
    "m16n8k8 32": lambda t, i: (t // 4 + (0 if i == 0 else 8), t % 4 * 2),
    "m16n8k16 32": lambda t, i: (t // 4 + (0 if i in (0, 2) else 8), t % 4 * 2 + (0 if i < 2 else 8)),
    "m16n8k32 8": lambda t, i: (t // 4 + (0 if i < 4 else 8), t % 4 * 8),
    "m16n8k64 8": lambda t, i: (
        t // 4 + (0 if 0 <= i < 4 or 8 <= i < 12 else 8),
        t % 4 * 8 + (0 if i < 8 else 32),
    ),
    "m16n8k64 4": lambda t, i: (t // 4 + (0 if i < 8 else 8), t % 4 * 16),
    "m16n8k128 4": lambda t, i: (
        t // 4 + (0 if 0 <= i < 8 or 16 <= i < 24 else 8),
        t % 4 * 16 + (0 if i < 16 else 64),
    ),
}


@pytest.mark.parametrize(("shape", "types", "chunk", "stored", "selectors", "width"), FORMS)
def test_fragments(
    specification: Specification,
    shape: str,
    types: str,
    chunk: int,
    stored: int,
    selectors: int,
    width: int,
) -> None:
    found = specification.find(f"{ORDERED}.{shape}.row.col.{types}")
    k, register = k_of(shape), 32 // width
    a = table_of(specification, found, "A").entries
    assert len(a) == 16 * k // 2
    for t, i, _, _, row, col in a:
        wanted, first = FIRST[f"{shape} {width}"](t, i)
        span = 2 * register  # lastcol - firstcol + 1
        column = col // stored * chunk  # the chunk that the packed column belongs to
        assert row == wanted
        assert first <= column < first + span
        assert col * 2 == first + i % register * 2  # low elements first
    b = table_of(specification, found, "B").entries
    assert len(b) == 8 * k
    for t, i, _, _, row, col in b:
        assert (row, col) == (register * (t % 4) + i % register + 4 * register * (i // register), t // 4)
    for operand in "CD":
        for t, i, _, _, row, col in table_of(specification, found, operand).entries:
            assert (row, col) == (t // 4 + (0 if i < 2 else 8), t % 4 * 2 + (i & 1))


@pytest.mark.parametrize(
    ("mnemonic", "columns", "lanes", "bytes_"),
    [(MXF8, 1, {2, 3}, {1}), (MXF4, 2, {2, 3}, {2, 3}), (NVF4, 4, {2, 3}, {0, 1, 2, 3})],
)
def test_scale_factors(
    specification: Specification, mnemonic: str, columns: int, lanes: set[int], bytes_: set[int]
) -> None:
    selectors = {"thread_id": 1, "byte_id": min(bytes_)}
    table = table_of(specification, specification.find(mnemonic), "scale-a", None, selectors)
    assert {t % 4 for t, *_ in table.entries} == lanes
    assert {i for _, i, *_ in table.entries} == bytes_
    assert {(row, col) for *_, row, col in table.entries} == {
        (r, c) for r in range(16) for c in range(columns)
    }


F8 = f"{SP}.m16n8k64.row.col.f32.e4m3.e5m2.f32"
V = "{a, b, c, d}"
SCALED = f"{V}, {V}, {V}, {V}, e, 0, x, {{0, 0}}, y, {{0, 0}};"
PLAIN = f"{V}, {V}, {V}, {V}, e, 0;"
SHORT = f"{{a, b}}, {V}, {V}, {{a, b}}, e, 0;"
F6 = f"{ORDERED}.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32"


@pytest.mark.parametrize(
    ("statement", "before", "since", "target", "refused"),
    [
        (f"{SP}.m16n8k32.row.col.f32.f16.f16.f32 {PLAIN}", "7.0", "7.1", "sm_80", "sm_75"),
        (f"{ORDERED}.m16n8k32.row.col.f32.f16.f16.f32 {PLAIN}", "8.4", "8.5", "sm_80", "sm_75"),
        (f"{F8} {PLAIN}", "8.3", "8.4", "sm_89", "sm_87"),
        (f"{F8.replace('sp', 'sp::ordered_metadata')} {PLAIN}", "8.4", "8.5", "sm_89", "sm_87"),
        (f"{F6} {PLAIN}", "8.6", "8.7", "sm_120a", "sm_120"),
        (f"{F6.replace('f32', 'f16')} {SHORT}", "8.6", "8.7", "sm_120a", "sm_100a"),
        (f"{MXF8} {SCALED}", "8.6", "8.7", "sm_120a", "sm_120"),
        (f"{MXF4} {SCALED}", "8.6", "8.7", "sm_120a", "sm_120f"),
        (f"{NVF4} {SCALED}", "8.6", "8.7", "sm_120a", "sm_120f"),
        (f"{NVF4.replace('ue4m3', 'ue8m0')} {SCALED}", "9.0", "9.1", "sm_121a", "sm_121f"),
    ],
)
def test_gates(statement: str, before: str, since: str, target: str, refused: str) -> None:
    assert verdict(statement, since, target) == "legal"
    assert verdict(statement, before, target) == "illegal"
    assert verdict(statement, "9.5", refused) == "illegal"


@pytest.mark.parametrize("mnemonic", [F6, F6.replace("f32", "f16"), MXF8, MXF4, NVF4])
def test_what_came_later_is_ordered_only(mnemonic: str) -> None:
    tail = SCALED if "block_scale" in mnemonic else SHORT if "f16" in mnemonic else PLAIN
    assert verdict(f"{mnemonic} {tail}") == "legal"
    assert verdict(f"{mnemonic} {tail}".replace("::ordered_metadata", "")) == "illegal"


@pytest.mark.parametrize(
    ("mnemonic", "change"),
    [
        (MXF8, ("e, 0,", "e, 1,")),
        (MXF8, ("x, {0, 0}", "x, {4, 0}")),
        (MXF8, ("x, {0, 0}", "x, {0, 2}")),
        (MXF8, ("y, {0, 0}", "y, {0, 4}")),
        (MXF4, ("x, {0, 0}", "x, {1, 0}")),
        (NVF4, ("y, {0, 0}", "y, {2, 0}")),
        (NVF4, (".scale_vec::4X", "")),
        (NVF4, ("4X", "2X")),
        (MXF4, (".ue8m0", ".ue4m3")),
        (MXF4, (".block_scale", "")),
        (MXF4, (".kind::mxf4", "")),
        (MXF4, ("m16n8k128", "m16n8k64")),
        (MXF8, (", x,", ",")),
    ],
)
def test_block_scaling_is_judged(mnemonic: str, change: tuple[str, str]) -> None:
    statement = f"{mnemonic} {SCALED}"
    assert verdict(statement) == "legal"
    assert change[0] in statement
    assert verdict(statement.replace(*change, 1)) == "illegal"


ASCENDING = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110}
DISTINCT = {0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011} | ASCENDING


@pytest.mark.parametrize(
    ("mnemonic", "codes"),
    [
        (f"{SP}.m16n8k16.row.col.f32.f16.f16.f32", DISTINCT),
        (f"{ORDERED}.m16n8k16.row.col.f32.f16.f16.f32", ASCENDING),
        (f"{SP}.m16n8k128.row.col.s32.s4.s4.s32", DISTINCT),
        (f"{ORDERED}.m16n8k128.row.col.s32.s4.s4.s32", ASCENDING),
        (F8, ASCENDING),
        (MXF4, ASCENDING),
        (f"{SP}.m16n8k8.row.col.f32.tf32.tf32.f32", {0b0100, 0b1110}),
        (f"{ORDERED}.m16n8k16.row.col.f32.tf32.tf32.f32", {0b0100, 0b1110}),
    ],
)
def test_codes(specification: Specification, mnemonic: str, codes: set[int]) -> None:
    """9.7.14.6.1: four values invalid without ::ordered_metadata, six meaningful with it and for fp8."""
    assert set(specification.codes_of(specification.find(mnemonic))) == codes


def sparse_matrix(k: int, chunk: int, stored: int) -> list[list[int]]:
    """Every chunk holds its values elsewhere: half of the pairs in 4:8, of the elements else."""
    run = 2 if chunk == 8 else 1
    runs, kept = chunk // run, stored // run
    rows = []
    for row in range(16):
        values = [0] * k
        for c in range(k // chunk):
            first = (row + c) % (runs - kept + 1)
            for slot in range(kept):
                for e in range(run):
                    values[c * chunk + (first + slot) * run + e] = 1 + (7 * row + 3 * c + slot + e) % 7
        rows.append(values)
    return rows


@pytest.mark.parametrize(("shape", "types", "chunk", "stored", "selectors", "width"), FORMS)
def test_compress_and_decompress(
    run: Run,
    tmp_path: Path,
    shape: str,
    types: str,
    chunk: int,
    stored: int,
    selectors: int,
    width: int,
) -> None:
    numpy = pytest.importorskip("numpy")
    dtype = {32: "f4", 16: "f2"}.get(width, "u1")
    matrix = numpy.array(sparse_matrix(k_of(shape), chunk, stored), dtype=dtype)
    name, packed, words, back = (str(tmp_path / f"{n}.npy") for n in ("a", "packed", "words", "back"))
    numpy.save(name, matrix)
    mnemonic = f"{ORDERED}.{shape}.row.col.{types}"
    for selector in range(selectors):
        chosen = ("--selector", str(selector))
        assert run("compress", mnemonic, name, *chosen, "--packed", packed, "--metadata", words)[0] == 0
        assert numpy.load(packed).shape == (16, k_of(shape) // 2)
        assert run("decompress", mnemonic, packed, words, *chosen, "--matrix", back)[0] == 0
        assert (numpy.load(back) == matrix).all()
    matrix[3] = 1
    numpy.save(name, matrix)
    code, _, err = run("compress", mnemonic, name, "--packed", packed, "--metadata", words)
    assert code == 2
    assert "row 3, chunk 0" in err


def test_descending_indices_need_plain_sp(run: Run, tmp_path: Path) -> None:
    """Lane 0 holds row 0 of m16n8k16; its chunk 0 stores column 3 before column 1."""
    numpy = pytest.importorskip("numpy")
    packed = numpy.zeros((16, 8), dtype="f2")
    packed[0, :2] = 5, 6
    words = numpy.full(32, 0x44444444, dtype="u4")
    words[0] = 0x44444447
    names = [str(tmp_path / f"{n}.npy") for n in ("packed", "words", "matrix")]
    numpy.save(names[0], packed)
    numpy.save(names[1], words)
    tail = ".m16n8k16.row.col.f32.f16.f16.f32"
    assert run("decompress", SP + tail, names[0], names[1], "--matrix", names[2])[0] == 0
    assert numpy.load(names[2])[0, :4].tolist() == [0, 6, 0, 5]
    code, _, err = run("decompress", ORDERED + tail, names[0], names[1], "--matrix", names[2])
    assert code == 2
    assert "row 0, chunk 0: the code 0b0111 is not valid" in err


def test_selectors_of_operand_and_metadata_agree(specification: Specification) -> None:
    family = specification.families["mma.sp"]
    for variant in family.listed():
        metadata = specification.layout_of(variant, "metadata")
        named = metadata.layout.params["s"].values if "s" in metadata.parameters else (0,)
        assert variant.values(family.instruction.operands["f"]) == tuple(named)


def test_what_only_assemblers_take() -> None:
    """Beside the text, ptxas takes .e4m3 and .e5m2 with any .kind, and .f16 accumulators without one."""
    half = f"{ORDERED}.m16n8k64.row.col.f16.e4m3.e5m2.f16"
    assert verdict(f"{half} {SHORT}") == "legal"
    assert verdict(f"{half} {SHORT}", "9.5", "sm_100a") == "illegal"
    foreign = F6.replace("e3m2", "e5m2").replace("f8f6f4", "f16")
    assert verdict(f"{foreign} {PLAIN}", "8.6", "sm_100a") == "legal"
    assert verdict(f"{foreign} {PLAIN}") == "illegal"
    for kind, targets in (("mxf8f6f4", {"sm_100f", "sm_120f", "sm_120a"}), ("mxf4", {"sm_120a"})):
        mnemonic = F6.replace("e3m2", "e5m2").replace("f8f6f4", kind)
        accepted = {
            t
            for t in ("sm_100f", "sm_120f", "sm_120a")
            if verdict(f"{mnemonic} {PLAIN}", "9.5", t) == "legal"
        }
        assert accepted == targets


def test_dense_and_sparse_are_kept_apart() -> None:
    assert verdict("mma.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32 {a}, {b}, {c}, {d};") == "illegal"
    dense = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert verdict(f"{dense} {V}, {V}, {{a, b}}, {V};") == "legal"
    assert verdict(f"{dense} {V}, {{a, b}}, {{a, b}}, {V}, e, 0;") == "illegal"
    sparse = dense.replace("mma.sync", "mma.sync.sp::ordered_metadata")
    assert verdict(f"{sparse} {V}, {{a, b}}, {{a, b}}, {V}, e, 0;") == "legal"


# 9.7.14.6.1: pairs may descend with plain .sp, but not those of .e4m3 and .e5m2.
ORDERS = {
    "f16": "distinct", "bf16": "distinct", "tf32": "distinct", "s8": "distinct", "u8": "distinct", "s4": "distinct",
    "u4": "distinct", "e4m3": "ascending", "e5m2": "ascending",
}  # fmt: skip


def test_the_order_of_metadata_by_type(specification: Specification) -> None:
    plain: dict[object, str] = {}
    ordered = set()
    for variant in specification.families["mma.sp"].variants():
        setting = specification.setting_of(variant, METADATA_ORDER)
        if variant.fields["spvariant"] == "sp":
            assert plain.setdefault(variant.fields["atype"], setting) == setting, variant.mnemonic
        else:
            ordered.add(setting)
    assert plain == ORDERS
    assert ordered == {"ascending"}


# Metadata as every ptxas takes or refuses them; two registers and a predicate it takes too, which the register calls a slip.
METADATA = [
    ("%b9", "legal"),
    ("{%b9}", "legal"),
    ("{%u9}", "legal"),
    ("{%b8, %b9}", "illegal"),
    ("{%p9}", "illegal"),
    ("{%h9}", "illegal"),
    ("{%bd9}", "illegal"),
    ("{}", "illegal"),
    ("7", "illegal"),
    ("{7}", "illegal"),
]


@pytest.mark.parametrize(("metadata", "verdict"), METADATA)
def test_metadata_are_a_register_or_a_vector_of_one(
    specification: Specification, metadata: str, verdict: str
) -> None:
    registers = ".reg .b32 %b<20>; .reg .u32 %u<20>; .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b64 %bd<20>;"
    two, four = "{%b0, %b1}", "{%b0, %b1, %b2, %b3}"
    f16 = f"{SP}.m16n8k16.row.col.f32.f16.f16.f32 {four}, {two}, {two}, {four}, {metadata}, 0;"
    mxf8 = f"{MXF8} {four}, {four}, {four}, {four}, {metadata}, 0, {{%b1}}, {{0, 0}}, {{%b2}}, {{0, 0}};"
    for text, ptx, target in ((f16, "7.7", "sm_80"), (mxf8, "8.7", "sm_120a")):
        assert specification.judge(ptx, target).judge(f"{registers} {text}").verdict == verdict, text
