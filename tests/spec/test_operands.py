"""What each operand is to its operation, whose elements it has, and what surrounds an instruction: typed from
the text's syntax. Ids of gates and tolerances, which never change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from ptxmma.spec.specification import Specification

WATCHES = ("spec/instructions/*.yaml",)

# By operand: the part, what the instruction does with it, and the qualifier with the type of its elements.
WGMMA = """
d D both dtype; a A source atype; a-desc A source atype; b-desc B source btype; scale-d scale-d source -;
imm-scale-a negate-A source -; imm-scale-b negate-B source -;
imm-trans-a transpose-A source -; imm-trans-b transpose-B source -
"""
MMA = """
d D destination dtype; a A source atype; b B source btype; c C source ctype;
scale-a-data scale-a source stype; scale-b-data scale-b source stype; selector-a - source -;
selector-b - source -; byte-id-a byte-a source -; byte-id-b byte-b source -; thread-id-a thread-a source -;
thread-id-b thread-b source -
"""
PARTS = {
    "wgmma.mma_async": WGMMA,
    "wgmma.mma_async.sp": f"{WGMMA}; sp-meta metadata source -; sp-sel selector source -",
    "wgmma.fence": "",
    "wgmma.commit_group": "",
    "wgmma.wait_group": "n - source -",
    "fence.proxy.async": "",
    "mma": MMA,
    "mma.sp": f"{MMA}; e metadata source -; f selector source -",
    "wmma.mma": "d D destination dtype; a A source multiplicand; b B source multiplicand; c C source ctype",
    "wmma.load.a": "r A destination type; p address source -; stride stride source -",
    "wmma.load.b": "r B destination type; p address source -; stride stride source -",
    "wmma.load.c": "r C destination type; p address source -; stride stride source -",
    "wmma.store.d": "r D source type; p address source -; stride stride source -",
    "ldmatrix": "d D destination type; p address source src_fmt",
    "stmatrix": "p address source -; a A source type",
    "movmatrix": "d D destination type; a A source type",
}
# By instruction: the operands of each form, in the order in which the text's syntax has the forms.
WGMMA_FORMS = """
d a-desc b-desc {} scale-d imm-scale-a imm-scale-b imm-trans-a imm-trans-b;
d a b-desc {} scale-d imm-scale-a imm-scale-b imm-trans-b;
d a-desc b-desc {} scale-d imm-scale-a imm-scale-b; d a b-desc {} scale-d imm-scale-a imm-scale-b;
d a-desc b-desc {} scale-d; d a b-desc {} scale-d
"""
SCALES = "scale-a-data selector-a scale-b-data selector-b"
FORMS = {
    "wgmma.mma_async": WGMMA_FORMS.replace("{}", ""),
    "wgmma.mma_async.sp": WGMMA_FORMS.replace("{}", "sp-meta sp-sel"),
    "wgmma.fence": "",
    "wgmma.commit_group": "",
    "wgmma.wait_group": "n",
    "fence.proxy.async": "",
    "mma": f"d a b c; d a b c {SCALES}",
    "mma.sp": f"d a b c e f; d a b c e f {SCALES}",
    "wmma.mma": "d a b c",
    "wmma.load.a": "r p; r p stride",
    "wmma.load.b": "r p; r p stride",
    "wmma.load.c": "r p; r p stride",
    "wmma.store.d": "p r; p r stride",
    "ldmatrix": "d p",
    "stmatrix": "p a",
    "movmatrix": "d a",
}
# What may stand where more than one thing may; what a plain kernel has there comes first.
ACCEPTED = {
    "e": "register vector",
    "a-desc": "register immediate",
    "b-desc": "register immediate",
    "scale-d": "register negated immediate",
    "sp-meta": "register vector",
    "stride": "register immediate",
    "scale-a-data": "register vector",
    "scale-b-data": "register vector",
    "byte-id-a": "register immediate",
    "byte-id-b": "register immediate",
    "thread-id-a": "register immediate",
    "thread-id-b": "register immediate",
}
SCALED = ("byte-id-a, thread-id-a", "byte-id-b, thread-id-b")
# 9.7.15.7.1: wgmma.fence before the first one and whenever registers are written; 9.7.15.6.3: the example
# commits and waits; 9.7.15.4: a proxy fence between the generic writes of shared memory and wgmma.
AROUND = (
    ("fence.proxy.async.shared::cta",),
    ("wgmma.fence.sync.aligned",),
    ("wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 0"),
)
GATES = {
    "wgmma.mma_async": "mixed-signedness",
    "wgmma.mma_async.sp": "mixed-signedness",
    "mma": "m16n8k16.fp8.kind m16n8k32.fp8.f16 m16n8k32.fp8.kind m16n8k64.mxf4nvf4.4X.ue8m0 "
    "fp8.kind-ignored.later fp8.kind-ignored.tcgen05 fp8.kind-ignored.tcgen05.i8 "
    "subbyte.operation-ignored.m16",
    "mma.sp": "ordered-metadata m16n8k64.fp8.kind m16n8k128.mxf4nvf4.4X.ue8m0 fp8.kind-ignored.mxf4 "
    "fp8.kind-ignored.mxf4nvf4 fp8.kind-ignored.f16.mxf4 fp8.kind-foreign.i8",
    "wmma.mma": "wmma.mma.aligned.absent wmma.mma.aligned wmma.mma.float.satfinite",
    "ldmatrix": "ldmatrix.shared-cta",
    **{
        name: f"{name}.aligned.absent {name}.aligned {name}.shared-cta"
        for name in ("wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d")
    },
}
TOLERANCES = {
    "wgmma.mma_async": "wgmma-aligned",
    "wgmma.mma_async.sp": "wgmma-sp-aligned",
    "wgmma.fence": "wgmma-fence-aligned",
    "wgmma.commit_group": "wgmma-commit-group-aligned",
    "wgmma.wait_group": "wgmma-wait-group-aligned",
}
FRAGMENTS = {"A": "wmma.load.a", "B": "wmma.load.b", "C": "wmma.load.c", "D": "wmma.store.d"}


def test_every_instruction_is_here(specification: Specification) -> None:
    """Those of tensor memory have tests of their own."""
    found = {name for name in specification.instructions if not name.startswith("tcgen05.")}
    assert found == set(PARTS)


@pytest.mark.parametrize("name", PARTS)
def test_operands(specification: Specification, name: str) -> None:
    found = {
        f"{operand} {one.part or '-'} {one.role} {one.holds or one.contains or '-'}"
        for operand, one in specification.instructions[name].operands.items()
    }
    assert found == {" ".join(line.split()) for line in PARTS[name].split(";") if line.strip()}


@pytest.mark.parametrize("name", PARTS)
def test_order_of_operands(specification: Specification, name: str) -> None:
    """Assemblers take descriptors and scales in any order: they are of one type."""
    found = [" ".join(form.operands) for form in specification.instructions[name].forms.values()]
    assert found == [" ".join(line.split()) for line in FORMS[name].split(";")]


@pytest.mark.parametrize("name", PARTS)
def test_what_an_operand_accepts(specification: Specification, name: str) -> None:
    for operand, one in specification.instructions[name].operands.items():
        assert len(one.accepts) == 1 or " ".join(one.accepts) == ACCEPTED[operand]


def test_wmma_multiplicands_are_of_the_types_that_are_named(specification: Specification) -> None:
    """9.7.14.4.5: .atype and .btype are the types of A and B; without them A and B are .f16."""
    for variant in specification.families["wmma.mma"].variants():
        named = {str(variant.fields[name]) for name in ("atype", "btype")} - {"none"}
        assert named <= {variant.fields["multiplicand"]} and (
            named or variant.fields["multiplicand"] == "f16"
        )


@pytest.mark.parametrize("name", ["mma", "mma.sp"])
def test_accumulators_of_16_rows_lie_alike(specification: Specification, name: str) -> None:
    """9.7.14.5, 9.7.14.6: all shapes m16n8kX have one picture of C and D."""
    for view in specification.families[name].rows:
        layouts = view.row.layouts
        if (view.domains["m"], view.domains["n"]) == ((16,), (8,)):
            assert view.row.tolerated or layouts["C"] == layouts["D"] == "mma.m16n8.c"


@pytest.mark.parametrize("name", ["mma", "mma.sp"])
def test_bits_of_an_element_in_a_register(specification: Specification, name: str) -> None:
    for view in specification.families[name].rows:
        assert {*view.domains["width"]} <= {1, 4, 8, 16, 32, 64}


def test_multiplicands_with_a_kind(specification: Specification) -> None:
    """9.7.14.5.10, 9.7.14.5.11: types of 4 and 6 bits lie as those of 8 where .kind has f8f6f4."""
    kinds = set()
    for view in specification.families["mma"].rows:
        named = {str(kind) for kind in view.domains["kind"]} - {"none"}
        if named and not view.row.tolerated:
            kinds |= named
            shape, bits = (
                f"mma.m16n8k{view.domains['k'][0]}",
                "8b" if any("f8f6f4" in kind for kind in named) else "4b",
            )
            assert (view.row.layouts["A"], view.row.layouts["B"]) == (
                f"{shape}.a.{bits}",
                f"{shape}.b.{bits}",
            )
    assert kinds == {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"}


@pytest.mark.parametrize("name", PARTS)
def test_where_elements_lie(specification: Specification, name: str) -> None:
    """Vectors of registers hold them; descriptors and scale factors, and ldmatrix's address, do not."""
    for operand, one in specification.instructions[name].operands.items():
        fragment = one.part in ("A", "B", "C", "D") and one.descriptor is None
        assert (one.holds is not None) == fragment
        assert (one.descriptor == "wgmma") == operand.endswith("-desc")
        elements = {"selector-a": SCALED[0], "selector-b": SCALED[1]}.get(operand)
        assert (", ".join(one.elements) if one.elements else None) == elements


@pytest.mark.parametrize("name", PARTS)
def test_what_surrounds_it(specification: Specification, name: str) -> None:
    instruction = specification.instructions[name]
    around = instruction.around
    wanted = AROUND if name.startswith("wgmma.mma_async") else ((), (), ())
    assert (around.written, around.before, around.after) == wanted
    assert dict(instruction.fragments) == (FRAGMENTS if name == "wmma.mma" else {})


@pytest.mark.parametrize("name", PARTS)
def test_ids_of_gates_and_tolerances(specification: Specification, name: str) -> None:
    instruction = specification.instructions[name]
    gates = [*instruction.gates, *(gate for row in instruction.rows for gate in row.gates)]
    assert {gate.id for gate in gates} == set(GATES.get(name, "").split())
    assert {one.id for one in instruction.tolerances} == set(TOLERANCES.get(name, "").split())
    assert {one.absent for one in instruction.tolerances} <= {"aligned"}


# 9.7.14.6.1: among how many groups of threads the sparsity selector chooses, by shape and width of elements.
SELECTORS = {
    ("m16n8k16", 16): 4,
    ("m16n8k32", 16): 2,
    ("m16n8k8", 32): 4,
    ("m16n8k16", 32): 2,
    ("m16n8k32", 8): 2,
    ("m16n8k64", 8): 1,
    ("m16n8k64", 4): 2,
    ("m16n8k128", 4): 1,
}


def test_selectors_of_sparse_products(specification: Specification) -> None:
    family = specification.families["mma.sp"]
    for variant in family.variants():
        assert variant.row.row.bind["selectors"].values == (variant.fields["selectors"],)
        shape = "m{m}n{n}k{k}".format_map(variant.fields)
        width = int(variant.fields["width"])
        assert variant.fields["selectors"] == SELECTORS[shape, width], variant.mnemonic


# The registers of operands whose type no qualifier gives.
B32, B64, B16 = "b32 u32 s32", "b64 u64 s64", "b16 u16 s16"
WORD = f"{B32} f32 f16x2"
TYPES = {
    **dict.fromkeys(("a-desc", "b-desc"), B64),
    **dict.fromkeys(("sp-meta", "e", "scale-a-data", "scale-b-data"), WORD),
    **dict.fromkeys(("byte-id-a", "byte-id-b", "thread-id-a", "thread-id-b"), B16),
    "scale-d": "pred",
    "p": f"{B32} {B64}",
    "stride": B32,
}


@pytest.mark.parametrize("name", PARTS)
def test_types_of_registers(specification: Specification, name: str) -> None:
    for operand, one in specification.instructions[name].operands.items():
        assert set(one.types or ()) == set(TYPES.get(operand, "").split()), operand


# By instruction, the registers of element types that are others than those of the type: as assemblers take them.
WHOLE, HALVES = ("s8", "u8", "s4", "u4", "b1"), dict.fromkeys(("bf16", "tf32", "e4m3", "e5m2"), "b32 f16x2")
REGISTERS = {
    "wgmma.mma_async": HALVES,
    "wgmma.mma_async.sp": HALVES,
    "mma.sp": dict.fromkeys(("bf16", "tf32", "f32"), WORD),
    "wmma.mma": {**dict.fromkeys(WHOLE, B32), "f64": "b64 f64"},
    **{f"wmma.load.{one}": {**dict.fromkeys(WHOLE[:2], B32), "f64": "b64 f64"} for one in "ab"},
    **{name: {"f64": "b64 f64"} for name in ("wmma.load.c", "wmma.store.d")},
}
BLOCK_SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4.2X", "mxf4nvf4.4X")
NARROW_SUMS = ("fp8", "f8f6f4", *BLOCK_SCALED, "kind-ignored", "kind-foreign")
# By instruction and the end of a row's name, and by operand.
ROWS = {
    ("mma", "m8n8k16.integer"): dict.fromkeys("ab", B32),
    ("wmma.mma", "m8n8k4.f64"): dict.fromkeys("cd", "b64 f64 u64 s64"),
    **{("mma", row): dict.fromkeys("ab", "b32") for row in BLOCK_SCALED},
    **{
        ("mma.sp", row): {
            **(dict.fromkeys("ab", "b32") if row in BLOCK_SCALED else {}),
            **dict.fromkeys("cd", "b32 f32"),
        }
        for row in NARROW_SUMS
    },
}


@pytest.mark.parametrize("name", PARTS)
def test_registers_of_elements(specification: Specification, name: str) -> None:
    instruction = specification.instructions[name]
    found = {element: set(types) for element, types in instruction.registers.items()}
    assert found == {element: set(types.split()) for element, types in REGISTERS.get(name, {}).items()}
    for row in instruction.rows:
        own = next((said for (one, end), said in ROWS.items() if one == name and _ends(row.id, end)), {})
        assert {o: set(t) for o, t in row.registers.items()} == {o: set(t.split()) for o, t in own.items()}


DOUBLES = {
    "mma": ("m16n8k16.fp8", "m16n8k32.fp8", "m16n8k32.f8f6f4", "fp8.kind-ignored"),
    "mma.sp": ("m16n8k64.fp8", "m16n8k64.f8f6f4", "fp8.kind-ignored", "fp8.kind-foreign"),
}
NOT_SPECIAL = ("m8n8k4.f64", "m8n8k32.subbyte", "m8n8k128.xor", "m8n8k128.and")
# What stands in a vector beside registers, where it is not what the operand's role says.
NOT_A_REGISTER: Mapping[tuple[str, str], Mapping[str, Collection[str]]] = {
    ("wmma.mma", "m16n16k16.integer"): {"b": ("single", "special")},
    ("wmma.mma", "m16n16k8.tf32"): {"b": ("special",), "d": ("special",)},
    **{("wmma.mma", row): dict.fromkeys("ab", ("integer", "float")) for row in NOT_SPECIAL},
    ("wmma.store.d", "m8n8k4.f64"): {"r": ("float",)},
    **{
        (name, row): {"c": ("integer", "float", "double", "special")}
        for name, rows in DOUBLES.items()
        for row in rows
    },
}
ALWAYS: Mapping[str, Mapping[str, Collection[str]]] = {
    **{f"wmma.load.{one}": {"r": ("sink",)} for one in "abc"},
    "wmma.store.d": {"r": ("integer", "single")},
}


@pytest.mark.parametrize("name", PARTS)
def test_what_stands_in_a_vector(specification: Specification, name: str) -> None:
    for row in specification.instructions[name].rows:
        found = {operand: set(kinds) for operand, kinds in row.elements.items()}
        wanted = NOT_A_REGISTER.get((name, row.id), ALWAYS.get(name, {}))
        assert found == {operand: set(kinds) for operand, kinds in wanted.items()}, row.id


def _ends(row: str, end: str) -> bool:
    return row == end or row.endswith(f".{end}")


def test_movmatrix_reads_rows_and_writes_columns(specification: Specification) -> None:
    """9.7.14.5.17: a thread holds two elements of a row of the source, and two of a column are put there.

    Silicon cannot tell: what moves is the same where both are exchanged.
    """
    (row,) = specification.instructions["movmatrix"].rows
    source, moved = (
        {point[:2]: point[2:] for point in specification.layouts[row.layouts[part]].points({"matrices": 1})}
        for part in "AD"
    )
    assert source == {(t, i): (t // 4, t % 4 * 2 + i) for t in range(32) for i in range(2)}
    assert moved == {(t, i): (t % 4 * 2 + i, t // 4) for t in range(32) for i in range(2)}
