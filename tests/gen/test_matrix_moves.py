"""ldmatrix, stmatrix, movmatrix against check values typed here from the text, assemblers and an H200."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest

import ptxmma
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.theorems.bridges import bridge_obligations
from ptxmma.gen.pictures.tables import table_of
from ptxmma.spec.expressions import compiled
from ptxmma.spec.maps import compared
from ptxmma.spec.specification import Specification

Run = Callable[..., tuple[int, str, str]]
Place = Callable[[int, int], tuple[int, int]]


# Measured on an H200 (m8n8), or from the text's pictures (the others): (thread, element) -> (row, column)
# of memory, the rows of several matrices stacked.
def m8n8(t: int, i: int) -> tuple[int, int]:
    return 8 * (i >> 1) + (t >> 2), ((t & 3) << 1) | (i & 1)


def m8n8_trans(t: int, i: int) -> tuple[int, int]:
    return 8 * (i >> 1) + (((t & 3) << 1) | (i & 1)), t >> 2


def m8n16(t: int, i: int) -> tuple[int, int]:
    """Each thread has 4 consecutive columns of a row; four threads have the row."""
    return 8 * (i >> 2) + (t >> 2), ((t & 3) << 2) | (i & 3)


def m16n16_trans(t: int, i: int) -> tuple[int, int]:
    """Transposed: 4 consecutive columns across 2 rows, eight apart."""
    transposed_row, transposed_col = (t >> 2) + (8 if i & 4 else 0), ((t & 3) << 2) | (i & 3)
    return 16 * (i >> 3) + transposed_col, transposed_row


def m16n8_trans(t: int, i: int) -> tuple[int, int]:
    """Bytes 0 and 1 are row t / 4 of the 16x8 matrix, bytes 2 and 3 the row eight further down."""
    matrix_row, matrix_col = (t >> 2) + (8 if i & 2 else 0), ((t & 3) << 1) | (i & 1)
    return 8 * (i >> 2) + matrix_col, matrix_row


LAYOUTS: list[tuple[str, str, Place, tuple[int, ...], int, tuple[int, int]]] = [
    ("ldmatrix.sync.aligned.m8n8.x{}.b16", "D", m8n8, (1, 2, 4), 16, (8, 8)),
    ("ldmatrix.sync.aligned.m8n8.x{}.trans.shared.b16", "D", m8n8_trans, (1, 2, 4), 16, (8, 8)),
    ("ldmatrix.sync.aligned.m8n16.x{}.shared.b8x16.b6x16_p32", "D", m8n16, (1, 2, 4), 8, (8, 16)),
    ("ldmatrix.sync.aligned.m8n16.x{}.b8x16.b4x16_p64", "D", m8n16, (1, 2, 4), 8, (8, 16)),
    ("ldmatrix.sync.aligned.m8n16.x{}.shared::cta.s8.s4", "D", m8n16, (1, 2, 4), 8, (8, 16)),
    ("ldmatrix.sync.aligned.m16n16.x{}.trans.b8", "D", m16n16_trans, (1, 2), 8, (16, 16)),
    ("ldmatrix.sync.aligned.m16n16.x{}.trans.b8x16.b4x16_p64", "D", m16n16_trans, (1, 2), 8, (16, 16)),
    ("stmatrix.sync.aligned.m8n8.x{}.shared.b16", "A", m8n8, (1, 2, 4), 16, (8, 8)),
    ("stmatrix.sync.aligned.m8n8.x{}.trans.b16", "A", m8n8_trans, (1, 2, 4), 16, (8, 8)),
    ("stmatrix.sync.aligned.m16n8.x{}.trans.shared.b8", "A", m16n8_trans, (1, 2, 4), 8, (8, 16)),
]


@pytest.mark.parametrize(("spelling", "operand", "place", "numbers", "width", "matrix"), LAYOUTS)
def test_fragments(
    specification: Specification,
    spelling: str,
    operand: str,
    place: Place,
    numbers: tuple[int, ...],
    width: int,
    matrix: tuple[int, int],
) -> None:
    for number in numbers:
        table = table_of(specification, specification.find(spelling.format(number)), operand)
        assert (table.rows, table.cols) == (number * matrix[0], matrix[1])
        assert table.threads * table.elements == table.rows * table.cols == len(table.entries)
        holder = [compiled(table.backward[name], ("row", "col")) for name in ("t", "i")]
        for thread, element, register, low, row, col in table.entries:
            assert (row, col) == place(thread, element)
            assert (register, low) == (element * width // 32, element * width % 32)
            assert (thread, element) == tuple(f(row, col) for f in holder)


@pytest.mark.parametrize(
    ("mnemonic", "lanes"),
    [
        ("ldmatrix.sync.aligned.m8n8.x1.b16", 8),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.b16", 32),
        ("ldmatrix.sync.aligned.m8n16.x2.b8x16.b6x16_p32", 16),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.b8", 16),
        ("ldmatrix.sync.aligned.m16n16.x2.trans.b8", 32),
        ("stmatrix.sync.aligned.m8n8.x2.b16", 16),
        ("stmatrix.sync.aligned.m16n8.x4.trans.b8", 32),
    ],
)
def test_lane_l_supplies_the_address_of_stacked_row_l(
    specification: Specification, mnemonic: str, lanes: int
) -> None:
    table = table_of(specification, specification.find(mnemonic), "p")
    rows = 16 if "m16n16" in mnemonic else 8
    assert table.entries == [(lane, lane // rows, lane % rows) for lane in range(lanes)]


def test_movmatrix_transposes(specification: Specification) -> None:
    """The source thread of half h of thread t, as measured: 4*(2*(t % 4) + h) + t // 8, half t // 4 % 2."""
    variant = specification.find("movmatrix.sync.aligned.m8n8.trans.b16")
    source = {(row, col): (t, i) for t, i, _, _, row, col in table_of(specification, variant, "A").entries}
    for t, h, _, low, row, col in table_of(specification, variant, "D").entries:
        assert source[row, col] == (4 * (2 * (t % 4) + h) + t // 8, t // 4 % 2)
        assert source[col, row] == (t, h) and low == 16 * h


@pytest.mark.parametrize(("instruction", "mnemonics"), [("ldmatrix", 63), ("stmatrix", 27), ("movmatrix", 1)])
def test_counts(run: Run, instruction: str, mnemonics: int) -> None:
    code, out, _ = run("list", instruction, "--format", "json")
    assert (code, len(json.loads(out))) == (0, mnemonics)


B16 = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {a, b}, [p];"
CTA = "ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {a}, [p];"
M16 = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {a, b}, [p];"
FP6 = "ldmatrix.sync.aligned.m8n16.x4.b8x16.b6x16_p32 {a, b, c, d}, [p];"
S4 = "ldmatrix.sync.aligned.m8n16.x1.shared::cta.s8.s4 {a}, [p];"
ST = "stmatrix.sync.aligned.m8n8.x4.b16 [p], {a, b, c, d};"
ST8 = "stmatrix.sync.aligned.m16n8.x2.trans.shared::cta.b8 [p], {a, b};"
MOV = "movmatrix.sync.aligned.m8n8.trans.b16 d, a;"

# What ptxas takes, release 11.7 to 13.5: the last version that refuses, the first that accepts.
GATES = [
    (B16, "sm_75", "6.4", "6.5"), (B16, "sm_80", None, "7.0"), (B16, "sm_72", "9.5", None),
    (CTA, "sm_75", "7.7", "7.8"), (CTA, "sm_90a", None, "8.0"),
    (M16, "sm_100a", None, "8.6"), (M16, "sm_100f", None, "8.8"), (M16, "sm_100", "9.5", None),
    (M16, "sm_90a", "9.5", None), (FP6, "sm_120a", None, "8.7"), (FP6, "sm_121f", None, "8.8"),
    (FP6, "sm_110f", None, "9.0"), (FP6, "sm_103", "9.5", None), (FP6, "sm_107a", None, "9.4"),
    (S4, "sm_90a", "9.3", "9.4"), (S4, "sm_90", "9.5", None), (S4, "sm_100f", "9.3", "9.4"),
    (S4, "sm_121a", "9.3", "9.4"), (S4, "sm_120", "9.5", None),
    (ST, "sm_90", None, "7.8"), (ST, "sm_89", "9.5", None), (ST, "sm_100", None, "8.6"),
    (ST8, "sm_101a", None, "8.6"), (ST8, "sm_103f", None, "8.8"), (ST8, "sm_90a", "9.5", None),
    (MOV, "sm_75", "7.7", "7.8"), (MOV, "sm_72", "9.5", None), (MOV, "sm_121", None, "8.8"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "target", "refused", "accepted"), GATES)
def test_gates(statement: str, target: str, refused: str | None, accepted: str | None) -> None:
    if refused:
        assert ptxmma.legal(statement, refused, target).verdict == "illegal"
    if accepted:
        assert ptxmma.legal(statement, accepted, target).verdict == "legal"


def test_the_universe() -> None:
    """Every shape x num x .trans x type, and every vector length, as ptxas 13.5 judges them."""
    shapes = ("m8n8", "m8n16", "m16n8", "m16n16")
    types = ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64", "s8.s4", "b8x16", "s4.s8", "b32")
    accepted = 0
    for name, shape, number, trans, kind in itertools.product(
        ("ldmatrix", "stmatrix"), shapes, (1, 2, 3, 4), ("", ".trans"), types
    ):
        load = name == "ldmatrix"
        fits = {
            ("m8n8", "b16"): (1, 2, 4),
            ("m8n16", "b8x16.b6x16_p32"): (1, 2, 4) if load and not trans else (),
            ("m8n16", "b8x16.b4x16_p64"): (1, 2, 4) if load and not trans else (),
            ("m8n16", "s8.s4"): (1, 2, 4) if load and not trans else (),
            ("m16n16", "b8"): (1, 2) if load and trans else (),
            ("m16n16", "b8x16.b6x16_p32"): (1, 2) if load and trans else (),
            ("m16n16", "b8x16.b4x16_p64"): (1, 2) if load and trans else (),
            ("m16n8", "b8"): (1, 2, 4) if not load and trans else (),
        }.get((shape, kind), ())
        for length in range(1, 6):
            vector = "{" + ", ".join("abcde"[:length]) + "}"
            operands = f"{vector}, [p]" if load else f"[p], {vector}"
            statement = f"{name}.sync.aligned.{shape}.x{number}{trans}.shared.{kind} {operands};"
            right = number in fits and length == number * (2 if shape == "m16n16" else 1)
            assert (ptxmma.legal(statement, "9.5", "sm_100a").verdict == "legal") == right, statement
            accepted += right
    assert accepted == 6 + 9 + 6 + 6 + 3


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (B16.replace(".sync", ""), "qualifier.missing"),
        (B16.replace(".aligned", ""), "qualifier.missing"),
        (B16.replace(".x2", ""), "qualifier.missing"),
        (B16.replace(".shared", ".global"), "qualifier.unknown"),
        (B16.replace(".shared", ".shared::cluster"), "qualifier.unknown"),
        (B16.replace(".x2", ".x2.x2"), "qualifier.repeated"),
        (B16.replace("{a, b}", "a"), "operand.kind"),
        (B16.replace("{a, b}", "{_, _}"), "operand.vector"),
        (B16.replace("[p]", "p"), "operand.kind"),
        (B16.replace(", [p]", ""), "operand.count"),
        (ST.replace("{a,", "{_,"), "operand.sink"),
        (ST8.replace(".trans", ""), "qualifier.missing"),
        (MOV.replace(".trans", ""), "qualifier.missing"),
        (MOV.replace(" a;", " 5;"), "operand.kind"),
        (MOV.replace("d, a", "{d}, {a}"), "operand.kind"),
        (MOV.replace("d, a", "_, a"), "operand.kind"),
        (".reg .b16 a, b; " + B16, "operand.type"),
        (".reg .b64 a, b, c, d; " + ST, "operand.type"),
    ],
)
def test_refusals(statement: str, code: str) -> None:
    verdict = ptxmma.legal(statement, "9.5", "sm_100a")
    assert verdict.verdict == "illegal" and code in [reason.code for reason in verdict.reasons]


@pytest.mark.parametrize("order", ["x2.m8n8.shared.b16", "b16.shared.x2.m8n8", "shared.b16.m8n8.x2"])
def test_qualifiers_may_be_permuted(order: str) -> None:
    assert ptxmma.legal(f"ldmatrix.sync.aligned.{order} {{_, a}}, [p];", "9.5", "sm_75").verdict == "legal"


@pytest.mark.slow
def test_bridges_point_by_point(specification: Specification) -> None:
    """What the solvers prove, by enumeration; and none of the bridges is empty."""
    assert len(specification.bridges) >= 50
    for name, bridge in specification.bridges.items():
        left, right = compared(bridge, specification.layouts)
        agree = differ = 0
        of_n = [int(n) for n in bridge.params["n"].values] if "n" in bridge.params else []
        few = {n for n in of_n if n in (16, 48)} or set(of_n[:2])
        each = [
            {key: int(v) for key, v in zip(bridge.params, values, strict=True)}
            for values in itertools.product(*(s.values for s in bridge.params.values()))
        ]
        chosen = [given for given in each if not few or given["n"] in few]
        for given in chosen if len(chosen) < 20 else chosen[:: len(chosen) // 8]:
            points = right.points({key: given[key] for key in right.parameters})
            at_left = left.points({key: given[key] for key in left.parameters})
            held = len(left.inputs)
            places = {point[:held]: point[held:] for point in at_left}
            known = (*given, *right.inputs, *right.outputs)
            spoken = compiled(bridge.where.tree, known) if bridge.where is not None else None
            holders = [compiled(bridge.at[key].tree, known) for key in left.inputs]
            values = [compiled(bridge.equals[key].tree, known) for key in left.outputs]
            for point in points:
                at = (*given.values(), *point)
                if spoken is not None and not spoken(*at):
                    continue
                holder = tuple([one(*at) for one in holders])
                wanted = tuple([one(*at) for one in values])
                agree += places.get(holder) == wanted
                differ += places.get(holder) != wanted
        assert agree and (differ == 0) == bridge.holds, name


def test_the_permutation_that_a_solver_finds(specification: Specification) -> None:
    """8-bit C/D as A: the solver's tables, held against the formulas of the text."""
    name = "mma.c-mma.a.8b"
    obligations = bridge_obligations(name, specification.bridges[name], specification.layouts)
    (found,) = [o for o in obligations if o.theorem == "bridge.permutation"]
    for solver in ("z3", "cvc5"):
        answer = ask(solver, found.smt)
        assert answer.status == "sat"
        k = [answer.model.get(f"col_{col}", 0) for col in range(32)]
        assert sorted(k) == list(range(32))
        order = {(j, i): answer.model.get(f"element_{j}_{i}", 0) for j in range(4) for i in range(4)}
        assert sorted(order.values()) == list(range(16))
        for t, j, i in itertools.product(range(32), range(4), range(4)):
            group, member = t >> 2, t % 4
            a = order[j, i]
            row, col = group + 8 * (a // 4 % 2), 4 * member + a % 4 + 16 * (a // 8)
            assert (row, col) == (group + 8 * (i // 2), k[8 * j + 2 * member + i % 2])


def test_the_layout_command(run: Run) -> None:
    code, out, _ = run("layout", "ldmatrix.sync.aligned.m8n8.x4.b16", "--operand", "D", "--format", "json")
    table = json.loads(out)
    assert code == 0
    assert {key: table[key] for key in ("rows", "cols", "threads", "elements")} == {
        "rows": 32, "cols": 8, "threads": 32, "elements": 8,
    }  # fmt: skip
    assert [5, 7, 3, 16, 25, 3] in table["map"]
    addresses = ("layout", "ldmatrix.sync.aligned.m8n8.x4.b16", "--operand", "p")
    said = "thread 19 supplies the address of row 3 of matrix 2\n"
    assert run(*addresses, "--matrix", "2", "--row", "3") == (0, said, "")
    assert run(*addresses, "--thread", "19") == (0, said, "")
    code, out, _ = run(*addresses, "--format", "json")
    table = json.loads(out)
    assert table["columns"] == ["thread", "matrix", "row"] and table["map"][9] == [9, 1, 1]
    assert "matrix 1 T8    T9 " in run(*addresses)[1]
    code, _, err = run(*addresses, "--row", "3")
    assert code == 2 and "--matrix and --row" in err
    code, _, err = run("layout", "movmatrix.sync.aligned.m8n8.trans.b16", "--operand", "C")
    assert code == 2 and "it has: D, A" in err


def test_show_says_where_addresses_come_from(run: Run) -> None:
    _, out, _ = run("show", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8")
    assert "matrix = t // 8, row = t % 8" in out and "multiple of 16 bytes" in out
