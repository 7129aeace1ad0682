"""The bytes of a product's matrices, against the addresses of the YAML and figures worked out by hand."""

import itertools

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.memory.byte_regions import ByteRegion
from ptxmma.check.memory.matrices import matrices
from ptxmma.check.ptx.decode import DecodedFunction
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.check.values.interval import Interval
from ptxmma.spec.addresses import DescribedMatrix, matrix_atoms
from ptxmma.spec.api import load
from ptxmma.spec.descriptor import address_field, decode, encode, fields_of, split_address
from ptxmma.spec.memory_records import Descriptor

SPEC = load()
DESCRIPTOR = SPEC.descriptors["wgmma"]
LEADING, STRIDE = 4096, 1024
WORD = encode(
    DESCRIPTOR,
    {"leading-dimension-byte-offset": LEADING, "stride-dimension-byte-offset": STRIDE, "swizzle-mode": 0},
)
MODES = DESCRIPTOR.fields["swizzle-mode"].values


@pytest.mark.parametrize(
    ("major", "mode", "size", "shape"),
    [
        *itertools.product(["K"], MODES, [1, 2, 4], [(64, 8), (8, 16)]),
        *itertools.product(["MN"], MODES, [2], [(64, 16), (128, 16), (8, 32)]),
    ],
)
def test_every_element_lies_in_the_extent_and_the_last_atom_is_used(
    major: str, mode: str, size: int, shape: tuple[int, int]
) -> None:
    """Against the addresses of all elements: the extent ends behind the last, less than one atom behind it."""
    rules = SPEC.addresses
    word = WORD | MODES[mode] << DESCRIPTOR.fields["swizzle-mode"].low
    fields = decode(DESCRIPTOR, word)
    matrix = DescribedMatrix.of(rules.addresses, SPEC.layouts, rules.swizzle, DESCRIPTOR, fields, major, size)
    atoms = matrix_atoms(rules.addresses, SPEC.layouts, major, mode, size, shape)
    ends = [matrix.address(x, k) + size for x in range(shape[0]) for k in range(shape[1])]
    assert max(ends) <= atoms.extent(fields) < max(ends) + atoms.atom


D = "{" + ",".join(f"%f{i}" for i in range(4)) + "}"
HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[65536];
.visible .entry k()
.reqntid 128, 1, 1
{
.reg .b32 %r<32>;
.reg .f32 %f<32>;
.reg .b64 %rd<16>;
"""


def regions(mma: str, mode: str, low: int = 0) -> list[ByteRegion]:
    operations = Operations(SPEC.judge("8.6", "sm_90a"))
    (function,) = read_module(f"{HEAD}{mma}\n}}\n", "k.ptx").functions
    statement = DecodedFunction(function, operations)[0]
    fields = WORD | MODES[mode] << DESCRIPTOR.fields["swizzle-mode"].low

    def value_of(text: str, scope: int, descriptor: Descriptor) -> Interval:
        assert descriptor == DESCRIPTOR
        return Interval(low, low, text, 4, fields)

    return list(matrices(statement, value_of))


DENSE = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {D}, %rd1, %rd2, 1, 1, 1, 0, 0;"
BOTH_TRANSPOSED = DENSE.replace("0, 0;", "1, 1;")
SPARSE = f"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {D}, %rd1, %rd2, %r1, 0, 1, 1, 1, 0, 0;"
INTEGER = f"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {D}, %rd1, %rd2, 1;"
BINARY = f"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {D}, %rd1, %rd2, 1;"


@pytest.mark.parametrize(
    ("mma", "mode", "a", "b"),
    [
        (DENSE, "none", 7 * STRIDE + LEADING + 128, LEADING + 128),  # 8 groups of 8 rows; two columns
        (DENSE, "32B", 7 * STRIDE + 256, 256),  # 32 bytes are all of K
        (DENSE, "128B", 7 * STRIDE + 1024, 1024),
        (INTEGER, "none", 7 * STRIDE + LEADING + 128, LEADING + 128),
        (BINARY, "none", 7 * STRIDE + LEADING + 128, LEADING + 128),
        (SPARSE, "none", 7 * STRIDE + LEADING + 128, 3 * LEADING + 128),  # B is not packed: 64 bytes of K
        (SPARSE, "32B", 7 * STRIDE + 256, LEADING + 256),
        (SPARSE, "64B", 7 * STRIDE + 512, 512),
        (BOTH_TRANSPOSED, "none", 7 * STRIDE + LEADING + 128, LEADING + 128),  # strides step along M and N
        (BOTH_TRANSPOSED, "64B", LEADING + STRIDE + 512, STRIDE + 512),  # leading offsets do
    ],
)
def test_extents_by_hand(mma: str, mode: str, a: int, b: int) -> None:
    assert regions(mma, mode) == [ByteRegion("%rd1", 0, a), ByteRegion("%rd2", 0, b)]


def test_a_swizzled_matrix_keeps_to_its_lines() -> None:
    assert regions(DENSE, "128B", 1024 + 32)[1] == ByteRegion("%rd2", 1024, 2048)


def test_a_fragment_takes_no_memory() -> None:
    mma = DENSE.replace("%rd1", "{%r0,%r1,%r2,%r3}").replace("0, 0;", "0;")
    assert regions(mma, "32B") == [ByteRegion("%rd2", 0, 256)]


def test_the_address_of_a_word_and_the_rest_of_it() -> None:
    word = WORD | 0x40
    start, rest = split_address(DESCRIPTOR, word)
    assert (start, rest) == (0x400, WORD)
    assert address_field(DESCRIPTOR).unit == 16
    assert fields_of(DESCRIPTOR, word | 1 << 60)["start-address"] == 0x400


def kernel(mma: str, where: int, fields: int) -> str:
    """Descriptors of A at 0 and B at 32768 of the tile; a generic store at `where`, with no proxy fence."""
    return (
        f"{HEAD}mov.u32 %r1, tile;\nst.shared.b32 [%r1+{where}], %r2;\nbar.sync 0;\n"
        "shr.u32 %r3, %r1, 4;\nand.b32 %r3, %r3, 16383;\ncvt.u64.u32 %rd3, %r3;\n"
        f"or.b64 %rd1, %rd3, {fields};\nadd.s64 %rd2, %rd1, 2048;\nmov.b32 %r5, 0x44444444;\n"
        f"wgmma.fence.sync.aligned;\n{mma}\nwgmma.commit_group.sync.aligned;\n"
        "wgmma.wait_group.sync.aligned 0;\nret;\n}\n"
    )


@pytest.mark.parametrize(
    ("mma", "mode", "inside", "outside"),
    [
        # B of a sparse product is two atoms of 32 bytes deep; the second lies a leading offset further
        (SPARSE.replace("%r1,", "%r5,"), "32B", 32768 + LEADING, 32768 + LEADING + 256),
        # eight columns of an unswizzled transposed B are one atom; the second half of K a leading offset further
        (DENSE.replace("0, 0;", "0, 1;"), "none", 32768 + LEADING, 32768 + LEADING + 128),
    ],
)
def test_a_store_into_a_matrix_is_found_and_one_beside_it_is_not(
    mma: str, mode: str, inside: int, outside: int
) -> None:
    fields = WORD | MODES[mode] << DESCRIPTOR.fields["swizzle-mode"].low

    def rules(where: int) -> set[str]:
        found = check_text(kernel(mma, where, fields), "k.ptx").findings
        return {finding.rule for finding in found if finding.tier in ("error", "likely")}

    assert rules(inside) == {"proxy-fence"} and rules(outside) == set()
