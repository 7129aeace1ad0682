"""The decoding of statements: hand-typed statements of every kind, each with its expected decoding."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptxmma.check.not_judged import not_judged
from ptxmma.check.ptx.decode import DecodedFunction, DecodedStatement
from ptxmma.check.ptx.operands import Address, NamedOperand, operand_texts
from ptxmma.check.ptx.operation import Operations
from ptxmma.check.ptx.reader import read_module
from ptxmma.spec.api import load
from ptxmma.spec.effects import load_effects, read
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import PACKAGE
from ptxmma.spec.model import Part

Decode = Callable[[str], DecodedStatement]

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[1024];
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<32>;
.reg .f32 %f<32>;
.reg .b64 %rd<16>;
.reg .pred %p<8>;
"""


@pytest.fixture(scope="module")
def operations() -> Operations:
    return Operations(load().judge("8.6", "sm_90a"))


@pytest.fixture
def decode(operations: Operations) -> Decode:
    def one(text: str) -> DecodedStatement:
        (function,) = read_module(f"{HEAD}{text}\n}}\n", "k.ptx").functions
        return DecodedFunction(function, operations)[len(function.statements) - 1]

    return one


# Registers: what is written, what is read. A guard is read.


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("add.u32 %r1, %r2, 7;", "%r1", "%r2"),
        ("@!%p1 add.u32 %r1, %r2, %r1;", "%r1", "%r2 %r1 %p1"),
        ("mov.b64 {%r1, %r2}, %rd3;", "%r1 %r2", "%rd3"),
        ("setp.lt.u32 %p1|%p2, %r1, %r2;", "%p1 %p2", "%r1 %r2"),
        ("ld.shared.v4.b32 {%r1,%r2,%r3,%r4}, [%rd1+16];", "%r1 %r2 %r3 %r4", "%rd1"),
        ("st.shared.v2.b32 [%rd1], {%r1,%r2};", "", "%rd1 %r1 %r2"),
        ("atom.shared.add.u32 %r1, [%rd1], %r2;", "%r1", "%rd1 %r2"),
        ("mbarrier.arrive.shared::cta.b64 _, [%rd1];", "", "%rd1"),
        ("call (%r1), f, (%r2, %r3);", "%r1", "%r2 %r3"),
        ("call f, (%r2);", "", "%r2"),
        ("bra L; L: ret;", "", ""),
        ("wgmma.wait_group.sync.aligned 1;", "", ""),
        ("frobnicate %r1, %r2;", "%r1 %r2", "%r1 %r2"),
        ("{ .reg .b32 %r1; add.u32 %r1, %r2, 1; }", "%r1@1", "%r2"),
        ("add.u32 %r1, %laneid, tile;", "%r1", ""),
    ],
)
def test_registers(decode: Decode, text: str, writes: str, reads: str) -> None:
    found = decode(text)
    assert (" ".join(found.writes), " ".join(found.reads)) == (writes, reads)


# Memory: what a statement does, where, and how many bytes of a thread


@pytest.mark.parametrize(
    ("text", "does", "space", "address", "size"),
    [
        ("ld.param.u64 %rd1, [out];", "load", "param", ("out", 0), 8),
        ("ld.global.nc.v4.f32 {%f0,%f1,%f2,%f3}, [%rd1+-16];", "load", "global", ("%rd1", -16), 16),
        ("st.b32 [%rd1], %r1;", "store", "generic", ("%rd1", 0), 4),
        ("st.shared.u8 [tile+3], %r1;", "store", "shared", ("tile", 3), 1),
        ("st.shared::cluster.v4.b64 [%r1], {%rd1,%rd2,%rd3,%rd4};", "store", "shared", ("%r1", 0), 32),
        ("st.release.cta.shared::cta.b16 [64], %r1;", "store", "shared", (None, 64), 2),
        ("st.async.weak.shared::cluster.b32 [%r1], %r2, [%r3];", "store", "shared", ("%r1", 0), 4),
        ("stmatrix.sync.aligned.m8n8.x1.b16 [%r1], {%r2};", "store", "shared", ("%r1", 0), 16),
        ("ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%r1+0x20];", "load", "shared", ("%r1", 32), 16),
        ("red.shared.add.noftz.f16x2 [%r1], %r2;", "update", "shared", ("%r1", 0), 4),
        ("atom.global.add.f32 %f1, [%rd1], %f2;", "update", "global", ("%rd1", 0), 4),
        ("cp.async.cg.shared.global [%r1+8], [%rd1], 16, %r2;", "copy", "shared", ("%r1", 8), 16),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", "copy", "shared", ("%r1", 0), 4),
        ("cp.async.ca.shared.global [%r1], [%rd1], %r2;", "copy", "shared", ("%r1", 0), None),
        ("add.u32 %r1, %r2, 7;", "nothing", "generic", None, 4),
        ("mov.b32 %r1, %r2;", "move", "generic", None, 4),
        ("st.shared.b32 [%r1+%r2], %r3;", "store", "shared", None, 4),
    ],
)
def test_accesses(
    decode: Decode, text: str, does: str, space: str, address: tuple[str | None, int] | None, size: int | None
) -> None:
    found = decode(text)
    assert (found.does, found.operation.space, found.bytes) == (does, space, size)
    assert found.address == (None if address is None else Address(*address))


def test_a_bulk_copy(decode: Decode) -> None:
    into = decode(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r1], [%rd1, {%r2, %r3}], [%r4+8];"
    )
    assert (into.does, into.operation.spaces) == ("bulk-copy", ("shared", "global"))
    assert (into.address, into.barrier) == (Address("%r1", 0), Address("%r4", 8))
    out = decode("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64;")
    assert (out.operation.spaces, out.address, out.barrier) == (
        ("global", "shared"),
        Address("%rd1", 0),
        None,
    )


# Groups and barriers


@pytest.mark.parametrize(
    ("text", "does", "pending"),
    [
        ("wgmma.fence.sync.aligned;", "fence", None),
        ("wgmma.commit_group.sync.aligned;", "commit", None),
        ("wgmma.wait_group.sync.aligned 3;", "wait", "3"),
        ("cp.async.commit_group;", "copy-commit", None),
        ("cp.async.wait_group 2;", "copy-wait", "2"),
        ("cp.async.wait_all;", "copy-wait", None),
        ("cp.async.bulk.commit_group;", "bulk-commit", None),
        ("cp.async.bulk.wait_group.read 0;", "bulk-wait", "0"),
        ("fence.proxy.async.shared::cta;", "proxy-fence", None),
        ("fence.mbarrier_init.release.cluster;", "memory-fence", None),
    ],
)
def test_groups(decode: Decode, text: str, does: str, pending: str | None) -> None:
    found = decode(text)
    assert (found.does, found.pending) == (does, pending)


@pytest.mark.parametrize(
    ("text", "does", "kind", "where", "name", "phase"),
    [
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;", "arrive", "object", "%r1", None, None),
        ("mbarrier.arrive_drop.shared.b64 %rd1, [%r1];", "arrive", "object", "%r1", None, None),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", "await", "object", "%r1", None, "%r2"),
        ("mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd2;", "await", "object", "%r1", None, None),
        ("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", "copy-arrive", "object", "%r1", None, None),
        ("bar.sync 0;", "meet", "named", None, "0", None),
        ("barrier.cta.sync.aligned %r1, 128;", "meet", "named", None, "%r1", None),
        ("bar.red.popc.u32 %r1, 2, 128, %p1;", "meet", "named", None, "2", None),
        ("bar.arrive 1, 256;", "arrive", "named", None, "1", None),
        ("bar.warp.sync -1;", "meet", "warp", None, None, None),
        ("barrier.cluster.arrive.release.aligned;", "arrive", "cluster", None, None, None),
        ("barrier.cluster.wait.acquire.aligned;", "meet", "cluster", None, None, None),
        ("mbarrier.init.shared::cta.b64 [%r1], 1;", "init", "object", "%r1", None, None),
    ],
)
def test_barriers(
    decode: Decode,
    text: str,
    does: str,
    kind: str | None,
    where: str | None,
    name: str | None,
    phase: str | None,
) -> None:
    found = decode(text)
    assert (found.does, found.operation.action.barrier) == (does, kind)
    assert found.barrier == (None if where is None else Address(where, 0))
    assert (found.barrier_name, found.phase) == (name, phase)


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("bra L; L:", "jump"),
        ("brx.idx %r1, T;", "switch"),
        ("ret;", "leave"),
        ("exit;", "leave"),
        ("trap;", "abort"),
        ("elect.sync %r1|%p1, -1;", "elect"),
        ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "shuffle"),
    ],
)
def test_control(decode: Decode, text: str, does: str) -> None:
    assert decode(text).does == does


# Operands by part, from the specification's forms

D = "{%f0,%f1,%f2,%f3}"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"


def parts(statement: DecodedStatement) -> dict[str | None, str]:
    return {one.operand.part: one.text for one in statement.named}


def part(statement: DecodedStatement, name: Part) -> NamedOperand:
    found = statement.part(name)
    assert found is not None
    return found


def test_the_operands_of_a_product_by_part(decode: Decode) -> None:
    found = decode(f"{WGMMA} {D}, %rd1, %rd2, %p1, 1, -1, 0, 1;")
    assert (found.does, found.operation.factors, found.operation.types) == (
        "multiply",
        (64, 8, 16),
        ("f32", "f16", "f16"),
    )
    assert parts(found) == {
        "D": D,
        "A": "%rd1",
        "B": "%rd2",
        "scale-d": "%p1",
        "negate-A": "1",
        "negate-B": "-1",
        "transpose-A": "0",
        "transpose-B": "1",
    }
    assert part(found, "A").operand.descriptor is not None and found.is_complete


def test_a_fragment_of_a_stands_where_a_descriptor_does(decode: Decode) -> None:
    """The two forms have as many operands; which it is shows in how A is written."""
    a = "{%r0,%r1,%r2,%r3}"
    found = decode(f"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {D}, {a}, %rd2, 1;")
    assert part(found, "A").text == a and part(found, "A").is_vector
    assert part(found, "A").operand.descriptor is None and part(found, "B").text == "%rd2"


def test_a_sparse_product_has_its_metadata_before_scale_d(decode: Decode) -> None:
    found = decode(f"{SPARSE} {D}, %rd1, %rd2, %r9, 1, 0, 1, 1, 0, 0;")
    assert parts(found)["metadata"] == "%r9" and parts(found)["selector"] == "1"
    assert parts(found)["scale-d"] == "0" and parts(found)["transpose-B"] == "0"


def test_names_differ_and_parts_do_not(decode: Decode) -> None:
    """mma.sp calls its metadata e and its selector f."""
    found = decode(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
        f"{D}, {{%r0,%r1,%r2,%r3}}, {{%r4,%r5,%r6,%r7}}, {D}, %r20, 0x1;"
    )
    assert [(one.name, one.operand.part) for one in found.named][-2:] == [
        ("e", "metadata"),
        ("f", "selector"),
    ]


def test_too_few_operands_are_named_so_far_as_they_go(decode: Decode) -> None:
    found = decode(f"{WGMMA} {D}, %rd1;")
    assert parts(found) == {"D": D, "A": "%rd1"} and not found.is_complete


def test_an_instruction_that_the_specification_does_not_hold_has_no_parts(decode: Decode) -> None:
    found = decode("add.u32 %r1, %r2, 7;")
    assert parts(found) == {} and found.operation.instruction is None


@pytest.mark.parametrize(
    ("qualifiers", "factors"),
    [
        ("m64n8k16.f32.f16.f16.bogus", (64, 8, 16)),  # legality says what is wrong; the shape is one
        ("f32.f16.f16", None),
        ("m64n9k16.f32.f16.f16", None),  # there is no such shape
    ],
)
def test_a_product_that_is_not_spelled_right(
    decode: Decode, qualifiers: str, factors: tuple[int, int, int] | None
) -> None:
    found = decode(f"wgmma.mma_async.sync.aligned.{qualifiers} {D}, %rd1, %rd2, 1, 1, 1, 0, 0;")
    assert found.operation.variant is None and found.operation.instruction is not None
    assert found.operation.factors == factors
    assert part(found, "B").text == "%rd2"


# What nobody knows


@pytest.mark.parametrize(
    ("opcode", "held"),
    [
        ("wgmma.mma_async.sync.aligned.bogus", True),
        ("wgmma.frobnicate", True),  # legality names the nearest instruction
        ("fence.proxy.async", True),
        ("fence.proxy.alias", False),
        ("frobnicate.mma.cta_group::1.kind::f16", False),
        ("frobnicate", False),
    ],
)
def test_what_legality_judges(operations: Operations, opcode: str, held: bool) -> None:
    assert operations.is_held(opcode) is held


def test_an_instruction_without_effects_is_read_by_its_roles_and_its_order_is_not_judged() -> None:
    """As one is that was added as YAML alone, in spec/instructions."""
    known = load_effects()
    less = dataclasses.replace(
        known, results=tuple(tuple(name for name in row if name != "mma") for row in known.results)
    )
    operations = Operations(load().judge("8.6", "sm_90a"), less)
    mma = f"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {D}, {{%r0,%r1}}, {{%r2}}, {{%f4,%f5,%f6,%f7}};"
    module = read_module(f"{HEAD}{mma}\n}}\n", "k.ptx")
    found = DecodedFunction(module.functions[0], operations)[0]
    assert " ".join(found.writes) == "%f0 %f1 %f2 %f3"
    assert " ".join(found.reads) == "%r0 %r1 %r2 %f4 %f5 %f6 %f7"
    (one,) = not_judged(module, operations)
    assert one.instruction == "mma" and "what it orders was not judged" in one.message
    assert not list(not_judged(module, Operations(load().judge("8.6", "sm_90a"))))


def test_an_action_is_of_an_instruction_whose_registers_are_known(tmp_path: Path) -> None:
    for name in ("specs.yaml", "spec/effects.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((PACKAGE / name).read_text())
    assert read(tmp_path).action("bar.sync").does == "meet"
    effects = tmp_path / "spec" / "effects.yaml"
    effects.write_text(effects.read_text() + "  frobnicate: {does: store}\n")
    with pytest.raises(SpecError, match="nothing says what frobnicate does to registers"):
        read(tmp_path)


def test_every_action_is_of_an_instruction_whose_registers_are_known() -> None:
    known = load_effects()
    assert len(known.actions) > 50
    assert [name for name in known.actions if known.kind(name) is None] == []


@given(st.text("ab,{}[]() "))
@example("{a, b}, [a], a")
@example("[a, {a, b}], b")
@example("a{,}b, (a), ")
@example("{a], b")
def test_operands_are_split_at_the_commas_outside_brackets(text: str) -> None:
    """Against letters read one by one."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    assert operand_texts(text) == tuple(part.strip() for part in parts)
