"""Theorems about tensor memory can fail: each sees a constant of the YAML that is spoilt."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.theorems.arrangements import arrangement_obligations
from ptxmma.formal.theorems.bridges import bridge_obligations
from ptxmma.formal.theorems.layouts import layout_obligations
from ptxmma.spec.expressions import parse
from ptxmma.spec.layout_records import Bridge, Layout
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.nodes import Formula
from ptxmma.spec.specification import Specification

WATCHES = ("spec/layouts/tcgen05*.yaml", "spec/layouts/bridges.yaml")


def formula(text: str, like: Formula) -> Formula:
    return Formula(text, parse(text), like.place)


def refuted(layout: Layout) -> set[str]:
    """The theorems that a solver refutes of a layout."""
    found = set()
    for obligation in layout_obligations(LayoutMap(layout)):
        answer = ask("z3", obligation.smt)
        assert answer.status in ("sat", "unsat")
        if answer.status == "sat":
            assert obligation.explain(answer.model)
            found.add(obligation.theorem)
    return found


@pytest.mark.parametrize(
    ("name", "output", "text", "theorem"),
    [
        ("tcgen05.ld.16x64b", "lane", "t // 4 + 4*(t % 2)", "layout.injective"),
        ("tcgen05.ld.16x64b", "column", "t // 2 % 2 + 4*i", "layout.in_bounds"),
        ("tcgen05.ld.16x128b", "column", "t % 4 + 2*(i // 2)", "layout.injective"),
        ("tcgen05.ld.16x256b", "lane", "t // 4 + 8*(i // 4 % 2)", "layout.injective"),
        ("tcgen05.ld.32x32b.packed", "column", "i // 2", "layout.injective"),
        ("tcgen05.d.A", "row", "127*cta + lane", "layout.injective"),
        ("tcgen05.d.B", "col", "column + n // 2 * (lane // 32 % 2)", "layout.injective"),
        ("tcgen05.d.E", "col", "column + n // 2 * (lane // 32)", "layout.in_bounds"),
        ("tcgen05.d.F", "row", "16*(lane // 32) + lane % 8", "layout.injective"),
        ("tcgen05.d.G", "col", "column + n // 2 * (lane // 32)", "layout.in_bounds"),
        ("tcgen05.a.B", "copy", "lane // 32 % 2", "layout.injective"),
        ("tcgen05.a.D", "col", "column * (16 // width) + i", "layout.injective"),
        ("tcgen05.scale-a.1X", "row", "16*column + lane % 32", "layout.injective"),
        ("tcgen05.scale-a.3X", "column", "row // 32 + 3*((id + col) // 4)", "layout.inverse_left"),
        ("tcgen05.scale-a.6X", "byte", "(id + col) % 3", "layout.injective"),
        ("tcgen05.scale-b.2X", "row", "byte // 2", "layout.injective"),
        ("tcgen05.scale-b.4X", "col", "32*column + lane % 31", "layout.injective"),
        ("tcgen05.scale-b.4X.B", "copy", "lane // 64", "layout.injective"),
        ("tcgen05.metadata.16b", "chunk", "4*(lane // 8 % 2) + bit // 4", "layout.in_bounds"),
        ("tcgen05.metadata.tf32", "index_bit", "bit % 2", "layout.injective"),
        ("tcgen05.metadata.8b", "chunk", "4*column + bit // 4", "layout.injective"),
        ("tcgen05.metadata.8b.ws", "copy", "lane // 64", "layout.injective"),
        ("tcgen05.cp.64x128b.01_23", "row", "32*(lane // 32) + lane % 32", "layout.in_bounds"),
        ("tcgen05.cp.32x128b", "offset", "2*column + byte", "layout.injective"),
        ("tcgen05.cp.b4x16_p64", "source_bit", "4*byte + bit // 2", "layout.injective"),
        ("tcgen05.shift", "source_lane", "lane + 2", "layout.in_bounds"),
    ],
)  # fmt: skip
def test_a_spoilt_map_is_refuted(
    specification: Specification, name: str, output: str, text: str, theorem: str
) -> None:
    layout = specification.layouts[name].layout
    spoilt = {**layout.map, output: formula(text, layout.map[output])}
    assert theorem in refuted(replace(layout, map=spoilt))


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [("tcgen05.d.B", "lane", "row % 64 + 32*(col // (n // 2))"), ("tcgen05.a.F", "i", "col % 4")],
)
def test_a_spoilt_inverse_is_refuted(specification: Specification, name: str, given: str, text: str) -> None:
    layout = specification.layouts[name].layout
    spoilt = replace(layout, inverse={**layout.inverse, given: formula(text, layout.inverse[given])})
    assert refuted(spoilt) == {"layout.inverse_left", "layout.surjective"}


def test_a_place_outside_of_its_half_is_refuted(specification: Specification) -> None:
    layout = specification.layouts["tcgen05.d.F"].layout
    assert layout.where is not None
    assert "layout.injective" in refuted(replace(layout, where=formula("lane % 2 == half", layout.where)))


def asked(specification: Specification, name: str, bridge: Bridge) -> dict[str, set[str]]:
    """The solver's answers about a bridge, by theorem."""
    found: dict[str, set[str]] = {}
    for obligation in bridge_obligations(name, bridge, specification.layouts):
        found.setdefault(obligation.theorem, set()).add(ask("z3", obligation.smt).status)
    return found


@pytest.mark.parametrize(
    ("name", "moved", "text", "theorem"),
    [
        ("tcgen05.d.F-wgmma.a.16b", "lane", "32*w + 8*half + lane", "bridge.between"),
        ("tcgen05.d.F-wgmma.a.16b", "column", "16*j + column + 1", "bridge.equal"),
        ("tcgen05.d.D-ld-st-tcgen05.a.D", "lane", "16*w + lane", "bridge.equal"),
        ("tcgen05.d.D-ld-st-tcgen05.a.D", "column", "16*c + column + n", "bridge.between"),
    ],
)
def test_a_bridge_through_the_wrong_place_is_refuted(
    specification: Specification, name: str, moved: str, text: str, theorem: str
) -> None:
    bridge = specification.bridges[name]
    assert bridge.through is not None
    assert asked(specification, name, bridge)[theorem] == {"unsat"}
    at = {**bridge.through.at, moved: formula(text, bridge.through.at[moved])}
    spoilt = replace(bridge, through=replace(bridge.through, at=at))
    assert asked(specification, name, spoilt)[theorem] == {"sat"}


def test_bridges_through_a_layout_point_by_point(specification: Specification) -> None:
    """The chain from register to lane and column to row and column, followed here by tables."""
    names = [name for name, bridge in specification.bridges.items() if bridge.through]
    assert len(names) >= 5
    for name in names:
        bridge = specification.bridges[name]
        assert bridge.through is not None
        left, right, outer = (specification.layouts[one] for one in bridge.layouts)
        followed = 0
        for values in itertools.product(*(scalars.values[:2] for scalars in bridge.params.values())):
            given = {key: int(value) for key, value in zip(bridge.params, values, strict=True)}
            tables = [
                {
                    p[: len(m.inputs)]: p[len(m.inputs) :]
                    for p in m.points({k: given[k] for k in m.parameters})
                }
                for m in (left, outer)
            ]
            for point in right.points({key: given[key] for key in right.parameters}):
                known = {**given, **dict(zip((*right.inputs, *right.outputs), point, strict=True))}
                if bridge.where is not None and not eval(bridge.where.text, {}, known):
                    continue
                place = tuple(eval(bridge.through.at[key].text, {}, known) for key in outer.inputs)
                held = {**given, **dict(zip(outer.outputs, tables[1][place], strict=True))}
                wanted = tuple(eval(bridge.equals[key].text, {}, held) for key in left.outputs)
                holder = tuple(eval(bridge.at[key].text, {}, known) for key in left.inputs)
                assert tables[0][holder] == wanted, (name, known)
                followed += 1
        assert followed > 100, name


EIGHTS, SIXTEENS, POWERS = range(8, 257, 8), range(16, 257, 16), [8, 16, 32, 64, 128, 256]
WARPS, TWO = range(4), range(2)
# By bridge or arrangement, the values of its parameters: N by 9.7.16.2.1, bytes and widths of A's rows, .num of the
# loads, scale factors' ids. A bridge through a layout is about some loads of some matrices, so no theorem says which.
RANGES: dict[str, dict[str, Sequence[int]]] = {
    "tcgen05.d.F-wgmma.d": {"n": POWERS, "num": [1, 2, 4, 8, 16, 32], "half": TWO, "w": WARPS},
    "tcgen05.d.D-wgmma.d": {"n": POWERS, "num": [1, 2, 4, 8, 16, 32], "h": TWO, "w": WARPS},
    "tcgen05.d.F-wgmma.a.16b": {"n": SIXTEENS, "num": [2], "half": TWO, "w": WARPS, "j": range(16)},
    "tcgen05.a.D-mma.a.16b": {"bytes": [32], "width": [16], "num": [2], "h": range(8), "b": TWO},
    "tcgen05.d.D-tcgen05.a.D": {"n": EIGHTS, "bytes": [32], "width": [16]},
    "tcgen05.d.D-ld-st-tcgen05.a.D": {
        "n": range(16, 257, 8), "bytes": [32], "width": [16], "num": [8], "w": WARPS, "c": range(16)
    },
    "tcgen05.accumulators.two": {"n": EIGHTS},
    "tcgen05.accumulators.halves": {"n": EIGHTS, "half": [0]},
    "tcgen05.tmem-a": {"n": EIGHTS, "bytes": [32, 48], "width": [4, 8, 16, 32]},
    "tcgen05.block-scaled": {"n": EIGHTS, "m": [128]},
    "tcgen05.block-scaled.k96": {"n": EIGHTS, "id": [0, 2]},
    "tcgen05.block-scaled.sparse": {"n": SIXTEENS, "m": [128]},
    "tcgen05.block-scaled.two.512": {"n": [256], "m": [128]},
    "tcgen05.block-scaled.two.576": {"n": [256], "m": [128]},
}  # fmt: skip


# By arrangement: its memory, and its operands with their addresses in it. Tensor memory has 128 lanes and 512 columns
# (9.7.16.1), scale factors of 4X take 4 columns for A and 8 for B, those of 6X 8 and 16, metadata 2, 48 bytes of A 12.
ARRANGED = {
    "tcgen05.accumulators.two": "lane 128, column 512: first d.D; second d.D column n",
    "tcgen05.accumulators.halves": "lane 128, column n: first d.F; second d.F lane 16",
    "tcgen05.tmem-a": "lane 128, column n + 12: D d.D; A a.D column n",
    "tcgen05.block-scaled": (
        "lane 128, column n + 12: D d.D; scale-a scale-a.4X column n; scale-b scale-b.4X column n + 4"
    ),
    "tcgen05.block-scaled.k96": (
        "lane 128, column n + 24: D d.D; scale-a scale-a.6X column n; scale-b scale-b.6X column n + 8"
    ),
    "tcgen05.block-scaled.sparse": (
        "cta 2, lane 128, column n + 14: D d.A; scale-a scale-a.4X column n; scale-b scale-b.4X column n + 4; "
        "metadata metadata.8b column n + 12"
    ),
    "tcgen05.block-scaled.two.512": (
        "lane 128, column 512: first d.D; second d.D column 256; scale-a scale-a.4X column 512; "
        "scale-b scale-b.4X column 516"
    ),
    "tcgen05.block-scaled.two.576": (
        "lane 128, column 576: first d.D; second d.D column 256; scale-a scale-a.4X column 512; "
        "scale-b scale-b.4X column 516; next-scale-a scale-a.4X column 524; next-scale-b scale-b.4X column 528"
    ),
}


def test_what_lies_where_in_which_memory(specification: Specification) -> None:
    """A greater memory and other places could be free as well."""

    def written(sizes: Mapping[str, Formula]) -> str:
        return ", ".join(f"{name} {formula.text}" for name, formula in sizes.items())

    found = {}
    for name, one in specification.arrangements.items():
        occupants = [
            f"{who} {occupant.layout.removeprefix('tcgen05.')} {written(occupant.address)}".rstrip()
            for who, occupant in one.occupants.items()
        ]
        found[name] = f"{written(one.memory)}: {'; '.join(occupants)}"
    assert found == ARRANGED


def test_what_no_theorem_says_of_parameters(specification: Specification) -> None:
    """Which loads, matrices and operands bridges through a layout and arrangements are about."""
    narrow = {n: b.params for n, b in specification.bridges.items() if b.through or not b.holds}
    arranged = {name: arrangement.params for name, arrangement in specification.arrangements.items()}
    found = {
        name: {key: list(scalars.values) for key, scalars in params.items()}
        for name, params in {**narrow, **arranged}.items()
        if name.startswith("tcgen05.")
    }
    wanted = {name: {key: list(values) for key, values in one.items()} for name, one in RANGES.items()}
    assert found == wanted


@pytest.mark.parametrize(
    ("name", "output", "text"),
    [
        ("tcgen05.cp.32x128b-tcgen05.scale-a.4X", "offset", "4*(row // 32) + col // 2"),
        ("tcgen05.cp.32x128b-tcgen05.scale-b.4X", "row", "col % 16"),
        ("tcgen05.cp.128x128b-tcgen05.metadata.8b", "offset", "8*k + chunk // 4"),
        ("tcgen05.cp.128x128b-tcgen05.metadata.16b", "row", "row"),
        ("tcgen05.cp.128x256b-tcgen05.a.D", "offset", "col + b"),
        ("tcgen05.ld.16x256b-mma.c", "col", "column % 4"),
    ],
)
def test_a_spoilt_bridge_is_refuted(specification: Specification, name: str, output: str, text: str) -> None:
    bridge = specification.bridges[name]
    spoilt = replace(bridge, equals={**bridge.equals, output: formula(text, bridge.equals[output])})
    assert asked(specification, name, spoilt)["bridge.equal"] == {"sat"}


@pytest.mark.parametrize(
    ("name", "who", "column", "theorem"),
    [
        ("accumulators.two", "second", "n - 1", "arrangement.apart"),
        ("accumulators.two", "second", "n + 1", "arrangement.fits"),
        ("block-scaled", "scale-b", "n + 3", "arrangement.apart"),
        ("block-scaled.k96", "scale-a", "n + 1", "arrangement.apart"),
        ("block-scaled.sparse", "metadata", "n + 11", "arrangement.apart"),
        ("tmem-a", "A", "n + 1", "arrangement.fits"),
        ("block-scaled.two.512", "scale-b", "508", "arrangement.apart"),
    ],
)
def test_operands_that_overlap_are_refuted(
    specification: Specification, name: str, who: str, column: str, theorem: str
) -> None:
    arrangement = specification.arrangements[f"tcgen05.{name}"]
    occupant = arrangement.occupants[who]
    moved = replace(occupant, address={"column": formula(column, occupant.address["column"])})
    for used, status in ((arrangement, "unsat"), (replace(
        arrangement, occupants={**arrangement.occupants, who: moved}), "sat")):  # fmt: skip
        found = [
            o for o in arrangement_obligations(name, used, specification.layouts) if o.theorem == theorem
        ]
        assert found
        answers = {ask("z3", o.smt).status for o in found}
        assert status in answers and (status == "sat" or answers == {"unsat"})


def test_columns_that_suffice_refute_what_is_said_not_to_fit(specification: Specification) -> None:
    name = "tcgen05.block-scaled.two.512"
    arrangement = specification.arrangements[name]
    memory = {**arrangement.memory, "column": formula("524", arrangement.memory["column"])}
    for used, status in ((arrangement, "sat"), (replace(arrangement, memory=memory), "unsat")):
        (found,) = (
            o
            for o in arrangement_obligations(name, used, specification.layouts)
            if o.theorem == "arrangement.exceeds"
        )
        assert (found.expects, ask("z3", found.smt).status) == ("sat", status)
