"""The theorems about legality, targets, parameters, readings and types: each is refuted by a slip, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ptxmma.assemblers.universe import Universe
from ptxmma.formal.catalogue import GROUPS, enumerations
from ptxmma.formal.prove import ENUMERATION, ProofResult, prove
from ptxmma.formal.row_symbols import RowSymbols
from ptxmma.formal.smt.solvers import ask
from ptxmma.formal.theorems.parameters import row_parameters
from ptxmma.spec import legality, variants
from ptxmma.spec.errors import SpecError
from ptxmma.spec.gates import EffectiveGate
from ptxmma.spec.loading import load_files
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.mnemonics import MnemonicGroup
from ptxmma.spec.nodes import Scalars, Version
from ptxmma.spec.selection import _open as is_selected
from ptxmma.spec.specification import Specification
from ptxmma.spec.statements import read_statement

INDEX = "specs.yaml"
MATRIX = "spec/layouts/matrix.yaml"
MMA_SP = "spec/instructions/mma.sp.yaml"
SPARSITY = "spec/sparsity.yaml"
BRIDGES = "spec/layouts/bridges.yaml"
NUMERICS = "spec/numerics.yaml"
LAYOUT_1 = "matrices: [1, 2, 4]"


def of_theorem(specification: Specification, theorem: str) -> list[ProofResult]:
    groups = [group for group in GROUPS if theorem in {one.name for one in group.theorems}]
    return list(prove(specification, ("z3",), lambda _, one: one.theorem == theorem, groups=groups))


def refuted(specification: Specification, theorem: str) -> list[ProofResult]:
    return [result for result in of_theorem(specification, theorem) if not result.holds]


SPOILT = [  # file, right, wrong, theorem, the beginning of what is said, and a part of it
    (MATRIX, LAYOUT_1, "matrices: [1, 2, 4, 8]", "layout.parameters", MATRIX, "no row that uses matrix.m8n8 has matrices = 8"),
    ("spec/layouts/mma.sp.yaml", "s: [0, 1, 2, 3]", "s: [0, 1, 2]", "row.parameters", MMA_SP, "the operand may be 3, the layout does not have it"),
    (MMA_SP, '"value < selectors"', '"value < 2"', "row.parameters", MMA_SP, "the operand does not"),
    ("spec/layouts/mma.yaml", "byte_id: [0, 2]", "byte_id: [0, 1]", "row.parameters", "spec/instructions/mma", "selects byte_id of mma.scale-a.2X"),
    (MMA_SP, " and atype != e5m2", "", "readings.settled", MMA_SP, "distinct and ascending both hold for "),
    (MMA_SP, " or atype == e5m2", "", "readings.settled", MMA_SP, "no setting holds for "),
    (SPARSITY, "strict: ascending", "strict: distinct", "readings.strict", SPARSITY, "distinct is called strict, but of "),
    (INDEX, "sm_100: {since: \"8.6\", includes: [sm_90]}", "sm_100: {since: \"8.6\", includes: [sm_90a]}", "targets.exact", INDEX, " includes sm_90a, which is exact"),
    (INDEX, "includes: [sm_88]", "includes: [sm_87]", "targets.exact", INDEX, " includes sm_88, or should"),
    (INDEX, "[sm_121, sm_120f]", "[sm_121, sm_110f]", "targets.exact", INDEX, " includes sm_110f, but is not "),
    (INDEX, "sm_110a: {since: \"9.0\", includes: [sm_110f]}", "sm_110a: {since: \"9.0\", includes: [sm_110]}", "targets.exact", INDEX, "sm_110a does not include sm_110f"),
    (INDEX, "  layout: [row, col]\n", "", "legal.read", "spec/instructions/mma.yaml", "as another of mma"),
    (INDEX, "  layout: [row, col]\n", "", "legal.round_trip", "spec/instructions/mma.yaml", "col.row"),
    (INDEX, "  layout: [row, col]\n", "", "legal.row", "spec/instructions/mma.yaml", "is judged otherwise than the row says"),
    (INDEX, "s8:   {bits: 8, kind: signed", "s8:   {bits: 8, kind: unsigned", "types.agree", INDEX, "s8 is called unsigned"),
    (BRIDGES, 'origin: measured}\n    params: {w: [0, 1, 2, 3], s: [0, 1]}\n    left: wgmma.sp.metadata.16b', 'origin: measured}\n    params: {w: [0, 1, 2], s: [0, 1]}\n    left: wgmma.sp.metadata.16b', "bridge.widest", BRIDGES, "does not speak of all that wgmma.sp.metadata.16b holds: s = 0"),
    (NUMERICS, "bias: 127, specials: nan, signed", "bias: 127, specials: ieee, signed", "types.agree", NUMERICS, "ue8m0 has "),
    (NUMERICS, "bias: 127, specials: nan, signed", "bias: 127, specials: none, signed", "types.agree", NUMERICS, "ue8m0 has 8 bits"),
    (NUMERICS, "e4m3:  {exponent: 4, fraction: 3", "e4m3:  {exponent: 3, fraction: 4", "types.agree", NUMERICS, "e4m3 has 3 bits of exponent"),
    (BRIDGES, "params: {matrices: [2, 4], k: [128, 256]", "params: {matrices: [2, 4], k: [256]", "bridge.widest", BRIDGES, "ldmatrix-mma.m16n8.a.b1 says nothing of matrices = 2"),
    (BRIDGES, "params: {w: [0, 1, 2, 3], s: [0, 1]}", "params: {w: [0, 1, 2, 3], s: [0]}", "bridge.widest", BRIDGES, " holds with s = 1, too"),
    (BRIDGES, 'num: 2, h: "range(0, 8)", b: [0, 1]}', 'num: 2, h: "range(0, 7)", b: [0, 1]}', "bridge.widest", BRIDGES, " holds with bytes = 32, width = 16, num = 2, h = 7, b = 0, too"),
    (BRIDGES, 'num: 2, h: "range(0, 8)", b: [0, 1]}', 'num: 2, h: "range(0, 8)", b: 1}', "bridge.widest", BRIDGES, " holds with bytes = 32, width = 16, num = 2, h = 0, b = 0, too"),
    (BRIDGES, "params: {m: [64, 128], id: [0, 1, 2, 3]}", "params: {m: [64, 128], id: [0, 1, 2]}", "bridge.widest", BRIDGES, "does not speak of all that tcgen05.scale-a.4X holds: m = 64"),
    (BRIDGES, "params: {m: [64, 128], id: [0, 1, 2, 3]}", "params: {m: [128], id: [0, 1, 2, 3]}", "bridge.widest", BRIDGES, "holds with m = 64, too"),
    (NUMERICS, "specials: ieee, source: {section: \"5.2.3; OCP OFP8\"", "specials: none, source: {section: \"5.2.3; OCP OFP8\"", "types.agree", NUMERICS, "e5m2 has 8 bits"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong", "theorem", "place", "said"), SPOILT)
def test_a_slip_is_refuted_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
    files: Path,
    name: str,
    right: str,
    wrong: str,
    theorem: str,
    place: str,
    said: str,
) -> None:
    """Also where the loader would refuse it before: gates that no longer fit targets, words of two fields."""
    monkeypatch.setattr(variants, "check_gates", lambda instruction, isa: None)
    monkeypatch.setattr(variants.Family, "_check_fields", lambda family: None)
    path = files / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    details = [result.detail for result in refuted(load_files(files), theorem)]
    assert any(detail.startswith(place) and said in detail for detail in details), details


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"matrices": (1, 2)}, "has matrices = 4; matrix.m8n8 has 1, 2 ("),
        ({"matrices": (1, 2, 4), "word": (16,)}, "has no word, which matrix.m8n8 needs"),
        ({"matrices": (1, 2, 4)}, ""),
    ],
)
def test_the_values_of_a_field_are_those_of_its_layout(
    specification: Specification, params: dict[str, tuple[int, ...]], said: str
) -> None:
    """The loader refuses such files before the theorem is asked, so it is asked about records."""
    view = next(view for view in specification.families["ldmatrix"].rows if view.row.id == "m8n8.b16")
    layout = specification.layouts["matrix.m8n8"].layout
    place = layout.params["matrices"].place
    spoilt = replace(layout, params={name: Scalars(values, place) for name, values in params.items()})
    layouts = {**specification.layouts, "matrix.m8n8": LayoutMap(spoilt)}
    details = [
        obligation.explain(answer.model)
        for obligation in row_parameters(view, layouts, lambda: RowSymbols(view.family))
        if (answer := ask("z3", obligation.smt)).status != "unsat"
    ]
    assert [said in one for one in details] == ([True] if said else [])


REFUSED = [  # what the loader says before any theorem is asked
    (MATRIX, LAYOUT_1, "matrices: [1, 2]", r"matrices of matrix\.m8n8 is never 4"),
    (INDEX, "sm_35: {since: \"3.1\", includes: []}", "sm_35: {since: \"3.1\", includes: [sm_37]}", "a target includes itself: sm_35"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong", "said"), REFUSED)
def test_a_slip_is_refused_at_load(files: Path, name: str, right: str, wrong: str, said: str) -> None:
    path = files / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(SpecError, match=said):
        load_files(files)


@pytest.mark.parametrize(
    ("theorem", "wrong"),
    [
        ("legal.row", lambda gate, version, target: gate.begins.get(target, version) < version),
        ("legal.row", lambda gate, version, target: target in gate.begins and gate.since <= version),
        (
            "gates.monotone",
            lambda gate, version, target: gate.right(version, target) and str(version) != "9.1",
        ),
        ("gates.monotone", lambda gate, version, target: gate.right(version, target) and target != "sm_103"),
    ],
)
def test_wrong_gates_are_refuted(
    specification: Specification,
    monkeypatch: pytest.MonkeyPatch,
    theorem: str,
    wrong: Callable[[EffectiveGate, Version, str], bool],
) -> None:
    monkeypatch.setattr(EffectiveGate, "right", EffectiveGate.opens, raising=False)
    monkeypatch.setattr(EffectiveGate, "opens", wrong)
    (first, *_) = (result.detail for result in refuted(specification, theorem))
    assert first.startswith("spec/instructions/") and "PTX ISA " in first


def test_an_enumeration_is_not_called_proven(specification: Specification) -> None:
    results = of_theorem(specification, "legal.round_trip")
    assert {(result.solver, result.verdict) for result in results} == {(ENUMERATION, "enumerated")}
    assert len(results) == len(specification.families)


def test_a_form_that_is_read_otherwise_is_refuted(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        legality.Judge, "judge_operands", lambda self, variant, statement: (next(iter(variant.forms)), ())
    )
    results = of_theorem(specification, "legal.round_trip")
    faults = {result.obligation.subject: result.detail for result in results if result.verdict == "refuted"}
    assert "movmatrix" not in faults  # it has one form
    assert "; is not read in the form (d, a, b-desc" in faults["wgmma.mma_async"]


def test_an_enumeration_with_faults_is_refuted(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def faults(*_: object) -> Iterator[str]:
        yield "specs.yaml:1:1: wrong"
        yield "specs.yaml:2:1: wrong too"

    monkeypatch.setattr("ptxmma.formal.theorems.formats.type_faults", faults)
    code, out, _ = run("prove", "types.agree")
    assert code == 1
    assert "REFUTED by enumeration: types.agree of f16: specs.yaml:1:1: wrong (and 1 more)" in out
    assert out.endswith("0 of 24 enumerated\n")


def test_every_enumeration_has_cases(specification: Specification) -> None:
    assert {one.theorem for one in enumerations(specification)} == {
        "arithmetic.factors",
        "arithmetic.split",
        "arithmetic.tight",
        "bridge.widest",
        "layout.one_path",
        "legal.nearest",
        "legal.round_trip",
        "ordering.phases",
        "types.agree",
    }


def test_every_statement_is_read_as_it_is_written(specification: Specification) -> None:
    """Statement, variant and form, statement: the identity, for every form of every variant."""
    universe, judge = Universe(specification), specification.judge()
    count = 0
    for family in specification.families.values():
        for variant in family.variants():
            for form in variant.forms:
                text = universe.write(variant, form).text
                statement = read_statement(text)
                verdict = judge.judge_statement(statement)
                assert verdict.variant is variant, text
                assert verdict.form is not None
                assert universe.write(verdict.variant, verdict.form).text == text
                count += 1
    assert count > 2626


@pytest.mark.slow
def test_all_who_read_a_gate_read_it_alike(specification: Specification) -> None:
    """legal.row tabulates `opens`; the judge's reasons and the selection of variants must say the same."""
    isa = specification.isa
    gates = {v.gate for family in specification.families.values() for v in family.variants()}
    for version in isa.versions:
        for target in isa.index.targets:
            judge = specification.judge(str(version), target)
            for gate in gates:
                opens = gate.opens(version, target)
                assert judge.is_open(gate) == opens == is_selected(gate, version, target)


@pytest.mark.parametrize(
    ("target", "added", "dropped", "said"),
    [
        ("sm_37", {"sm_35"}, set(), "include each other"),
        ("sm_80", set(), {"sm_80"}, "sm_80 does not include itself"),
    ],
)
def test_an_order_of_targets_that_is_none_is_refuted(
    specification: Specification,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    added: set[str],
    dropped: set[str],
    said: str,
) -> None:
    """The loader refuses circles in YAML; the theorem watches what is made of it."""
    wrong = specification.isa.including[target] - dropped | added
    monkeypatch.setitem(specification.isa.including, target, frozenset(wrong))
    details = [result.detail for result in refuted(specification, "targets.order")]
    assert any(detail.startswith(INDEX) and said in detail for detail in details), details


def nearest(specification: Specification, name: str) -> list[str]:
    """What `prove` says of suggestions about an instruction."""
    named = (
        one for one in enumerations(specification) if (one.theorem, one.subject) == ("legal.nearest", name)
    )
    return [fault for one in named for fault in one.faults()]


def test_the_nearest_form_is_legal(specification: Specification, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what is shut is suggested, or a form with an operand too many, the theorem is refuted."""
    assert nearest(specification, "ldmatrix") == []
    with monkeypatch.context() as broken:
        broken.setattr(
            MnemonicGroup, "suggestion", lambda self, mnemonic: self.spellings.variant_of(mnemonic)
        )
        faults = nearest(specification, "ldmatrix")
        assert faults and all(fault.startswith("spec/instructions/ldmatrix.yaml:") for fault in faults)
        assert any("is not legal under PTX ISA 6.5 on sm_75" in fault for fault in faults)
    with monkeypatch.context() as broken:
        broken.setattr(legality, "written", lambda variant, name: f"{name}, {name}")
        assert nearest(specification, "ldmatrix")
