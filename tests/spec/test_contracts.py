"""Which contract every row and instruction has, both ways, by rules typed from the PTX ISA.

The sections are those of the PTX ISA 9.2. What is expected of a row follows from the element types, qualifiers
and operands that it has; of an instruction, from its name, its qualifiers and its operands.
"""

from __future__ import annotations

from ptxmma.spec.contract_records import Consumer
from ptxmma.spec.nodes import written_fields
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Family, RowView

WATCHES = ("spec/instructions/*.yaml", "spec/contracts.yaml")

LOADS = ("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress")

# 9.7.15: one warpgroup executes wgmma instructions; 9.7.14: one warp the others; a fence is a thread's own.
SCOPES = {
    "fence.proxy.async": "thread",
    "ldmatrix": "warp",
    "mma": "warp",
    "mma.sp": "warp",
    "movmatrix": "warp",
    "stmatrix": "warp",
    "tcgen05.mma": "thread",
    "tcgen05.mma.block_scale": "thread",
    "tcgen05.mma.sp": "thread",
    "tcgen05.mma.sp.block_scale": "thread",
    "tcgen05.mma.ws": "thread",
    "tcgen05.mma.ws.sp": "thread",
    "tcgen05.alloc": "warp",
    "tcgen05.commit": "thread",
    "tcgen05.cp": "thread",
    "tcgen05.dealloc": "warp",
    "tcgen05.fence::after_thread_sync": "thread",
    "tcgen05.fence::before_thread_sync": "thread",
    **dict.fromkeys(LOADS, "warp"),
    "tcgen05.relinquish_alloc_permit": "warp",
    "tcgen05.shift": "thread",
    "tcgen05.st": "warp",
    "tcgen05.wait::ld": "warp",
    "tcgen05.wait::st": "warp",
    "wgmma.commit_group": "warpgroup",
    "wgmma.fence": "warpgroup",
    "wgmma.mma_async": "warpgroup",
    "wgmma.mma_async.sp": "warpgroup",
    "wgmma.wait_group": "warpgroup",
    "wmma.load.a": "warp",
    "wmma.load.b": "warp",
    "wmma.load.c": "warp",
    "wmma.mma": "warp",
    "wmma.store.d": "warp",
}
WARP = {"exec.sync.warp", "exec.aligned.warp"}
WARPGROUP = {"exec.sync.warp", "exec.aligned.warpgroup"}
ALIKE = {"exec.warp.qualifiers", "exec.warp.exited"}  # 9.7.14.4.5, 9.7.14.5.14 to 9.7.14.5.16, 9.7.14.6.3
WGMMA = {"exec.descriptor.uniform", "exec.async", "exec.fence.registers", "exec.fence.shared"}
CODES = {"exec.selector.threads", "exec.metadata.codes"}
FRAGMENT = {"exec.aligned.since", "exec.wmma.match", "exec.wmma.opaque"}
MATRIX = {"exec.matrix.space", "exec.matrix.rows", "exec.matrix.alignment", "exec.matrix.weak"}
# 9.7.16.5, 9.7.16.10: one thread issues a product of the tensor core, which reads memory until it is complete.
MOVED = {"exec.tensor.group", "exec.tensor.async", "exec.tensor.pipeline"}
TENSOR = (
    MOVED | {"exec.tensor.proxy"} | {f"exec.tensor.mma.{what}" for what in ("thread", "memory", "collector")}
)
# 9.7.16.7.1: one warp allocates, with the same columns in every thread; one .cta_group in a kernel.
ALLOCATION = {
    "exec.warp.exited",
    "exec.tensor.group",
    "exec.tensor.alloc.warp",
    "exec.tensor.alloc.columns",
}
ACCESS = WARP | {
    "exec.warp.exited",
    "exec.tensor.address.uniform",
    "exec.tensor.lanes",
    "exec.tensor.async",
}
LOADED = ACCESS | {"exec.tensor.ld.registers"}
EXECUTION = {
    "fence.proxy.async": {"exec.fence.shared"},
    "ldmatrix": WARP | ALIKE | MATRIX | {"exec.matrix.lanes"},
    "mma": WARP | ALIKE | {"exec.scale.threads"},
    "mma.sp": WARP | ALIKE | CODES | {"exec.metadata.ordered", "exec.scale.threads"},
    "movmatrix": WARP,
    "stmatrix": WARP | ALIKE | MATRIX,
    "tcgen05.mma": TENSOR,
    "tcgen05.mma.block_scale": TENSOR,
    "tcgen05.mma.sp": TENSOR,
    "tcgen05.mma.sp.block_scale": TENSOR,
    "tcgen05.mma.ws": TENSOR,
    "tcgen05.mma.ws.sp": TENSOR,
    "tcgen05.alloc": WARP
    | ALLOCATION
    | {f"exec.tensor.alloc.{what}" for what in ("order", "space", "weak", "freed")},
    "tcgen05.commit": {
        "exec.tensor.group",
        "exec.tensor.commit",
        "exec.tensor.commit.fence",
        "exec.tensor.commit.space",
    },
    "tcgen05.cp": MOVED | {"exec.tensor.proxy"},
    **dict.fromkeys(LOADS, LOADED),
    "tcgen05.shift": MOVED | {"exec.tensor.shift.lane"},
    "tcgen05.st": ACCESS | {"exec.tensor.st.wait"},
    "tcgen05.dealloc": WARP
    | ALLOCATION
    | {f"exec.tensor.dealloc.{what}" for what in ("address", "peers", "pending")},
    "tcgen05.fence::after_thread_sync": {"exec.tensor.fence"},
    "tcgen05.fence::before_thread_sync": {"exec.tensor.fence"},
    "tcgen05.relinquish_alloc_permit": WARP
    | {"exec.warp.exited", "exec.tensor.group", "exec.tensor.alloc.permit"},
    "tcgen05.wait::ld": WARP | {"exec.tensor.wait"},
    "tcgen05.wait::st": WARP | {"exec.tensor.wait"},
    "wgmma.commit_group": WARPGROUP | {"exec.commit"},
    "wgmma.fence": WARPGROUP | {"exec.fence.registers"},
    "wgmma.mma_async": WARPGROUP | WGMMA,
    "wgmma.mma_async.sp": WARPGROUP | WGMMA | CODES,
    "wgmma.wait_group": WARPGROUP | {"exec.wait"},
    "wmma.load.a": WARP | ALIKE | FRAGMENT | {"exec.wmma.memory"},
    "wmma.load.b": WARP | ALIKE | FRAGMENT | {"exec.wmma.memory"},
    "wmma.load.c": WARP | ALIKE | FRAGMENT | {"exec.wmma.memory"},
    "wmma.mma": WARP | ALIKE | FRAGMENT,
    "wmma.store.d": WARP | ALIKE | FRAGMENT | {"exec.wmma.memory"},
}

# What would notice that a clause is wrong: theorems, answers of `legal`, inputs of cases (each value of an operand is one that
# varies), litmus tests of a rule, rules of `check`.
NO_CHIP = "nobody no chip is at hand"
NOT_FOLLOWED = "nobody addresses in tensor memory are not followed yet"
NO_SPACE = "nobody in which space a generic address lies is not judged yet"
NOT_ORDERED = "nobody the order of tensor-memory accesses is not judged yet"
CONSUMERS = {
    "num.product.single": "case sums, case a-full, case b-full",
    "num.products": "theorem layout.surjective, case sums",
    "num.product.specified": "case sums, case a-full, case b-full",
    "num.accumulate.f32": "case accumulator, case lowest, case highest",
    "num.accumulate.fp8": "case accumulator, case lowest, case highest",
    "num.accumulate.f16": "case accumulator, case lowest, case highest",
    "num.order": "case sums, case accumulator",
    "num.tf32.truncate": "case a-full, case b-full",
    "num.f64.rounding": "case sums, case rounding.positive, case rounding.negative, "
    "case rounding.wide, legality qualifier.value",
    "num.integer.exact": "case integers",
    "num.integer.wrap": "case wrap.high, case wrap.low",
    "num.integer.clamp": "case clamp.high, case clamp.low, legality qualifier.unexpected",
    "num.float.clamp": "legality gate.removed",
    "num.bit.and": "case integers, legality qualifier.value",
    "num.bit.xor": "case integers, legality qualifier.value",
    "num.scale-d": "varies scale-d, legality operand.kind",
    "num.imm-scale": "varies imm-scale-a, varies imm-scale-b, legality operand.range",
    "num.imm-trans": "varies imm-trans-a, varies imm-trans-b, legality operand.count, legality operand.range",
    "num.sparse": "theorem sparse.product, case sums, case integers",
    "num.block-scale": "theorem layout.surjective, case sums",
    "num.tensor.enable": f"legality operand.kind, {NO_CHIP}",
    "num.tensor.lanes": f"legality operand.length, {NO_CHIP}",
    "num.tensor.exponent": f"legality operand.range, legality operand.count, {NO_CHIP}",
    "num.tensor.shift": f"legality operand.kind, {NO_CHIP}",
    "num.tensor.sparse": f"legality operand.count, {NO_CHIP}",
    "num.tensor.block-scale": f"legality qualifier.missing, {NO_CHIP}",
    "num.tensor.zero-columns": f"legality operand.count, {NO_CHIP}",
    "num.tensor.lookup": f"legality operand.count, {NO_CHIP}",
    "exec.tensor.mma.thread": "nobody which threads execute a tcgen05.mma is not judged yet",
    "exec.tensor.mma.memory": "check tensor-product-pending",
    "exec.tensor.mma.collector": "nobody collector buffers are not followed yet",
    "num.matrix.moved": "theorem layout.surjective, case bits",
    "num.matrix.padded": "case bits, legality qualifier.value",
    "num.matrix.expanded": "case bits, legality gate.since",
    "exec.sync.warp": "legality qualifier.missing, check aligned-divergent",
    "exec.aligned.warpgroup": "check aligned-divergent",
    "exec.aligned.warp": "check aligned-divergent",
    "exec.aligned.since": "legality gate.since, legality gate.removed",
    "exec.warp.qualifiers": "check aligned-divergent",
    "exec.warp.exited": "check aligned-exited",
    "exec.descriptor.uniform": "check descriptor-divergent",
    "exec.async": "theorem ordering.agree, check accumulator-in-flight",
    "exec.fence.registers": "theorem ordering.agree, check register-fence",
    "exec.fence.shared": "theorem ordering.agree, check proxy-fence",
    "exec.commit": "theorem ordering.agree, litmus uncommitted-at-wait, check accumulator-in-flight",
    "exec.wait": "legality operand.range, theorem ordering.agree, "
    "litmus wait-too-shallow, check accumulator-in-flight",
    "exec.selector.threads": "theorem layout.surjective, legality operand.range, varies sp-sel, varies f",
    "exec.metadata.codes": "theorem sparse.codes, check metadata-code",
    "exec.metadata.ordered": "theorem sparse.codes, check metadata-code",
    "exec.wmma.match": "check wmma-fragment",
    "exec.wmma.opaque": "legality operand.length, check wmma-fragment",
    "exec.wmma.memory": "check wmma-divergent",
    "exec.scale.threads": "theorem layout.surjective, legality operand.range",
    "exec.matrix.space": "check matrix-space",
    "exec.matrix.rows": "theorem layout.surjective, case bits",
    "exec.matrix.lanes": "check matrix-lanes",
    "exec.matrix.alignment": "check matrix-alignment, case bits",
    "exec.matrix.weak": "check shared-unsynchronised",
    "exec.tensor.group": "legality qualifier.missing, check qualifier-mixed",
    "exec.tensor.alloc.warp": "check aligned-divergent, check allocation-warp",
    "exec.tensor.alloc.columns": "legality operand.range",
    "exec.tensor.alloc.order": "check allocation-late",
    "exec.tensor.alloc.space": NO_SPACE,
    "exec.tensor.alloc.weak": "check shared-unsynchronised",
    "exec.tensor.alloc.freed": "check allocation-kept",
    "exec.tensor.alloc.permit": "check allocation-late",
    "exec.tensor.dealloc.address": "check allocation-freed",
    "exec.tensor.dealloc.peers": NOT_ORDERED,
    "exec.tensor.dealloc.pending": "check tensor-freed",
    "exec.tensor.fence": "check tensor-product-pending",
    "exec.tensor.wait": "check tensor-load-overwritten, check tensor-load-pending, check tensor-store-pending",
    "exec.tensor.address.uniform": NOT_FOLLOWED,
    "exec.tensor.lanes": "check tensor-lanes",
    "exec.tensor.async": "check tensor-overwritten, check tensor-product-pending",
    "exec.tensor.ld.registers": "check tensor-load-overwritten, check tensor-load-read, check tensor-load-pending",
    "exec.tensor.st.wait": "check tensor-store-pending",
    "exec.tensor.proxy": "nobody what tcgen05 reads from shared memory is not judged yet",
    "exec.tensor.pipeline": NOT_ORDERED,
    "exec.tensor.shift.lane": NOT_FOLLOWED,
    "exec.tensor.commit": "check barrier-stuck, check tensor-product-pending",
    "exec.tensor.commit.fence": "check tensor-product-pending",
    "exec.tensor.commit.space": NO_SPACE,
}
EFFECTS = {"num.tf32.truncate": "truncated", "num.f64.rounding": "rounded"}

# By the element type of A: what the text says of one product (9.7.15.6.3 and 9.7.14.5.14, "Precision and rounding").
SINGLE = {"f16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}
SPECIFIED = {"bf16", "tf32"}
INTEGER = {"s8", "u8", "s4", "u4"}


def products(view: RowView) -> set[str]:
    """The numerical contract of a row of a multiply-and-accumulate instruction."""
    name, fields = view.family.name, view.domains
    of_a, of_d = set(fields["atype"]) - {"none"} or set(fields["multiplicand"]), set(fields["dtype"])
    asynchronous, warp_f16 = name.startswith("wgmma"), name.startswith("wmma") and of_a == {"f16"}
    found = set()
    if of_a & (SINGLE | SPECIFIED):
        sparse_narrow = view.family.instruction.instruction == "mma.sp" and not of_a & {"f16"}
        found |= {"num.order"}
        found |= {"num.product.specified" if of_a & SPECIFIED or sparse_narrow else "num.product.single"}
        narrow = asynchronous and of_a <= {"e4m3", "e5m2"}
        found |= {"num.accumulate.fp8" if narrow else "num.accumulate.f32"} if "f32" in of_d else set()
        found |= {"num.accumulate.f16"} if "f16" in of_d else set()
    if of_a & INTEGER:
        found |= {"num.integer.exact", "num.integer.wrap", "num.integer.clamp"}
    if of_a == {"b1"}:
        found |= {"num.integer.wrap"}
        found |= {"num.bit.and"} if set(fields["op"]) == {"and.popc"} else {"num.bit.xor"}
    if of_a == {"f64"}:
        found |= {"num.f64.rounding"}
    if asynchronous:
        found |= {"num.scale-d"}
        found |= {"num.tf32.truncate"} if of_a == {"tf32"} else set()
        found |= {"num.imm-scale"} if not of_a & {"s8", "u8", "b1"} else set()
        found |= {"num.imm-trans"} if of_a & {"f16", "bf16"} else set()
    if view.family.instruction.instruction in ("mma.sp", "wgmma.mma_async.sp"):
        found |= {"num.sparse"}
    if set(fields.get("block_scale", ())) == {"block_scale"}:
        found |= {"num.block-scale"}
    if of_a == {"f16"} and view.row.id.endswith("m8n8k4.f16"):
        found |= {"num.products"}
    return found | ({"num.float.clamp"} if warp_f16 else set())


def moves(view: RowView) -> set[str]:
    """The numerical contract of a row of an instruction that moves matrices."""
    kinds = {str(kind) for field in ("type", "src_fmt") for kind in view.domains.get(field, ())}
    if kinds & {"b6x16_p32", "b4x16_p64"}:
        return {"num.matrix.padded"}
    if "s4" in kinds:
        return {"num.matrix.expanded"}
    return {"num.matrix.moved"}


def tensor_products(name: str, view: RowView) -> set[str]:
    """The numerical contract of a row of tcgen05.mma (9.7.16.10.9.1 to 9.7.16.10.9.4)."""
    kinds, found = set(view.domains["kind"]), {"num.tensor.enable"}
    found |= {"num.tensor.sparse"} if name.endswith((".sp", ".sp.block_scale")) else set()
    if ".ws" in name:
        return found | {"num.tensor.zero-columns"}
    found |= {"num.tensor.lookup"} if view.domains.get("decompress", ("none",)) != ("none",) else set()
    if name.endswith(".block_scale"):
        return found | {"num.tensor.block-scale"}
    found |= {"num.tensor.shift"} if view.domains["ashift"] == ("ashift",) else set()
    return found | {"num.tensor.lanes"} | ({"num.tensor.exponent"} if "kind::f16" in kinds else set())


def expected(family: Family, view: RowView) -> set[str]:
    name = family.instruction.instruction
    if view.row.tolerated:
        return set()
    if name.startswith("tcgen05.mma"):
        return tensor_products(name, view)
    if name in ("ldmatrix", "stmatrix", "movmatrix"):
        return moves(view)
    return (
        products(view)
        if "mma" in name.replace("wgmma", "").replace("wmma.", "") or name == "wmma.mma"
        else set()
    )


def test_every_clause_has_its_consumers(specification: Specification) -> None:
    found = {}
    for name, clause in specification.clauses.items():
        written = [
            f"{kind} {getattr(consumer, kind)}"
            for consumer in clause.consumers
            for kind in written_fields(Consumer)
            if getattr(consumer, kind) is not None
        ]
        found[name] = ", ".join(written)
    assert found == CONSUMERS


def test_every_clause_is_of_the_kind_that_its_id_says(specification: Specification) -> None:
    kinds = {"num": "numerical", "exec": "execution"}
    assert {n: c.kind for n, c in specification.clauses.items()} == {
        n: kinds[n.split(".")[0]] for n in CONSUMERS
    }
    assert {name: c.effect for name, c in specification.clauses.items() if c.effect} == EFFECTS


def test_every_instruction_has_its_scope(specification: Specification) -> None:
    assert {name: i.scope for name, i in specification.instructions.items()} == SCOPES


def test_every_instruction_has_its_execution_contract(specification: Specification) -> None:
    assert {n: set(i.execution) for n, i in specification.instructions.items()} == EXECUTION


def test_every_row_has_its_numerical_contract(specification: Specification) -> None:
    found, wanted = {}, {}
    for name, family in specification.families.items():
        for view in family.rows:
            found[name, view.row.id] = set(view.row.numerical)
            wanted[name, view.row.id] = expected(family, view)
    assert len(found) > 100
    assert found == wanted
