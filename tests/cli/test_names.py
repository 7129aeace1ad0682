"""Names as people type them: any case, parts of mnemonics, operands as `show` prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

import ptxmma

Run = Callable[..., tuple[int, str, str]]

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SP = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
FORM = "{d0, d1, d2, d3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}"
MX4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


def mnemonics(run: Run, *words: str) -> list[str]:
    return [entry["ptx"] for entry in json.loads(run("list", *words, "--format", "json")[1])]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("wgmma.sp", "wgmma.mma_async.sp"),
        ("WGMMA.SP", "wgmma.mma_async.sp"),
        ("MMA", "mma"),
        ("mma;", "mma"),
        ("mma.sync", "mma"),
        ("LdMatrix", "ldmatrix"),
    ],
)
def test_an_instruction_by_another_name(run: Run, typed: str, name: str) -> None:
    assert mnemonics(run, typed) == mnemonics(run, name) != []


def test_parts_patterns_and_words_left_out(run: Run) -> None:
    one = "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32"
    assert mnemonics(run, "wgmma.sp.*m64n8k16*") == mnemonics(run, "WGMMA.*.SP.*M64N8K16*") == [one]
    found = mnemonics(run, "mma.m16n8k16.f16")
    assert MMA in found and all(re.fullmatch(r"mma\b.*\.m16n8k16\..*\bf16\b.*", name) for name in found)
    assert mnemonics(run, "SCALE_VEC::2x") == mnemonics(run, "scale_vec::2X") != []
    assert {name.split(".")[0] for name in mnemonics(run, "wgmma")} == {"wgmma"}


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("HMMA", "did you mean mma?"),
        ("m64n8k15", "did you mean m64n8k16?"),
        ("ldmatrx.x4", "did you mean ldmatrix.x4?"),
        ("nosuch", "the instructions are wgmma.mma_async.sp, "),
    ],
)
def test_a_list_of_nothing_suggests_the_nearest(run: Run, typed: str, near: str) -> None:
    code, out, err = run("list", typed)
    assert (code, err) == (1, "") and out.startswith(f"nothing matches '{typed}'; {near}")
    code, out, err = run("list", typed, "--format", "json")
    assert (code, json.loads(out)) == (1, []) and near in err
    for words in (("gen", typed, "--out", "/nowhere"), ("diff", "8.3", "8.4", typed), ("evidence", typed)):
        code, out, err = run(*words)
        assert (code, out) == (2, "") and near in err
    with pytest.raises(ptxmma.Question, match=r"nothing matches"):
        ptxmma.diff("8.3", "8.4", typed)


def test_a_list_emptied_by_a_version_and_a_target_says_so(run: Run) -> None:
    code, out, _ = run("list", "wgmma", "--ptx", "7.8", "--target", "sm_90a")
    count = len(mnemonics(run, "wgmma"))
    assert (code, out) == (
        1,
        f"none of the {count} mnemonics that match 'wgmma' is in PTX ISA 7.8 on sm_90a\n",
    )


@pytest.mark.parametrize("name", ["mma", "MMA", "wgmma", "wgmma.sp", "ldmatrix", "mma.m16n8k16"])
def test_a_part_of_mnemonics_is_not_one_of_them(run: Run, name: str) -> None:
    count = len(mnemonics(run, name))
    for words in (("show", name), ("layout", name, "--operand", "D")):
        code, out, err = run(*words)
        listing = f"{name} is not a whole mnemonic: {count} match; `ptxmma list {name.lower()}` names them"
        assert (code, out, err) == (2, "", f"ptxmma: {listing}\n")


@pytest.mark.parametrize(
    "statement", ["mma", "mma;", "ldmatrix.sync.aligned", "mma.m16n8k16 {a}, {b}, {c}, {d};"]
)
def test_legal_does_not_judge_a_bare_mnemonic_by_the_first_row(run: Run, statement: str) -> None:
    name = statement.split()[0].rstrip(";")
    count = len(mnemonics(run, name))
    code, out, _ = run("legal", statement)
    assert code == 1 and f"{name} is not a whole mnemonic: {count} match; `ptxmma list {name}`" in out
    assert "allowed" not in out and "nearest" not in out


def test_a_mnemonic_without_operands_gets_a_form(run: Run) -> None:
    code, out, _ = run("legal", MMA)
    assert code == 1 and "does not end with ';'" in out
    assert out.endswith(f"  nearest legal form: {MMA} {FORM};\n")


def test_ptx_has_a_case(run: Run) -> None:
    statement = f"{MMA} {{d,d,d,d}}, {{a,a,a,a}}, {{b,b}}, {{c,c,c,c}};"
    assert run("legal", statement)[0] == 0
    code, out, _ = run("legal", statement.replace(".sync", ".SYNC").replace(".f32 ", ".F32 "))
    assert code == 1
    assert "PTX tells upper from lower case: .f32, not .F32; .sync, not .SYNC\n" in out
    assert out.endswith(f"  nearest legal form: {MMA} {FORM};\n")
    code, out, _ = run("legal", statement.upper())
    assert code == 2 and "PTX tells upper from lower case: write mma\n" in out
    assert run("legal", MX4.replace("2X", "2x") + " a;")[1].count(".scale_vec::2X, not .scale_vec::2x") == 1


def test_legal_names_instructions_that_a_wrong_name_may_mean(run: Run) -> None:
    assert "; the nearest that it has is wgmma.mma_async.sp\n" in run("legal", "wgmma.sp.sync a, b;")[1]
    assert "; it has wgmma.mma_async.sp, wgmma.mma_async, " in run("legal", "wgmma;")[1]


@pytest.mark.parametrize(
    ("mnemonic", "operand", "typed"),
    [
        (MMA, "D", ["d", "D"]),
        (MMA, "A", ["a", " A"]),
        (SP, "metadata", ["sp-meta", "SP-META", "sp_meta", "Metadata", "METADATA"]),
        (SP, "A", ["a"]),
        (MX4, "scale-a", ["scale_a", "SCALE-A"]),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "p", ["P", "address"]),
    ],
)
def test_operands_as_show_prints_them(run: Run, mnemonic: str, operand: str, typed: list[str]) -> None:
    wanted = run("layout", mnemonic.upper(), "--operand", operand)
    assert wanted[0] == 0
    choices = {"SP": {"selector": 0}, "MX4": {"thread_id": 0, "byte_id": 0}}
    selectors = (
        {SP: choices["SP"], MX4: choices["MX4"]}.get(mnemonic, {}) if "-" in operand or "m" in operand else {}
    )
    points = ptxmma.layout(mnemonic, operand, **selectors).points()
    for name in typed:
        assert run("layout", mnemonic, "--operand", name) == wanted
        assert ptxmma.layout(mnemonic, name, **selectors).points() == points


def test_a_matrix_behind_a_descriptor_is_said_to_be_there(run: Run) -> None:
    for operand in ("a-desc", "A_DESC", "b-desc", "B"):
        code, _, err = run("layout", SP, "--operand", operand)
        assert code == 2 and "lies in shared memory, behind a matrix descriptor" in err


def test_a_descriptor_of_no_matrix_is_said_to_be_a_word(run: Run) -> None:
    mnemonic = "tcgen05.mma.ws.cta_group::1.kind::f16"
    code, _, err = run("layout", mnemonic, "--operand", "zero-column-mask-desc")
    assert code == 2 and "is a word, and no matrix lies behind it" in err
    assert "`ptxmma descriptor decode WORD --kind tcgen05.zero-columns`" in err


def test_a_selector_is_named_in_the_title(run: Run) -> None:
    assert run("layout", SP, "--operand", "metadata")[1].startswith(f"metadata (selector 0) of {SP}\n")
    out = run("layout", MX4, "--operand", "scale-a", "--byte-id", "2")[1]
    assert out.startswith(f"scale-a (thread-id 0, byte-id 2) of {MX4}\n")
    assert run("layout", MMA, "--operand", "D")[1].startswith(f"D of {MMA}\n")


def test_patterns_of_other_commands_take_any_case(run: Run) -> None:
    assert run("evidence", "WGMMA.FENCE", "--format", "json") == run(
        "evidence", "wgmma.fence", "--format", "json"
    )
    assert run("prove", "DESCRIPTOR.*", "--solver", "z3")[0] == 0
    assert run("litmus", "NOSUCH")[0] == 2


def test_an_operand_is_asked_for(run: Run) -> None:
    code, out, err = run("layout", MMA)
    assert (code, out, err) == (2, "", f"ptxmma: name an operand of {MMA} with --operand: A, B, C, D\n")
    assert "no operand of wgmma.fence.sync.aligned has a layout" in run("layout", "wgmma.fence")[2]


def test_several_operands_take_the_selectors_that_each_has(run: Run) -> None:
    out = run("layout", SP, "--operand", "A,metadata", "--selector", "1")[1]
    assert f"A of {SP}\n" in out and f"metadata (selector 1) of {SP}\n" in out
    assert run("layout", MMA, "--operand", "A", "--selector", "1")[0] == 2


def test_functions_say_what_they_are_of(run: Run) -> None:
    for form, sign in (("cuda", "// "), ("python", '"""')):
        out = run("layout", SP, "--operand", "metadata", "--selector", "1", "--format", form)[1]
        assert out.startswith(f"{sign}metadata (selector 1) of {SP}: ")
        assert (
            "128 threads; row 64 x chunk 8 x slot 2 x index_bit 2; from thread and bit to row, chunk, " in out
        )


def test_selectors_stand_in_the_json(run: Run) -> None:
    words = ("layout", MX4, "--operand", "scale-a", "--thread-id", "1", "--format", "json")
    assert json.loads(run(*words)[1])["selectors"] == {"thread_id": 1, "byte_id": 0}


def test_show_folds_targets_and_long_lines(run: Run) -> None:
    out = run("show", MMA)[1]
    assert "\n  since 7.0 on sm_80 and every later one, up to sm_121a (28 targets)\n" in out
    assert len(json.loads(run("show", MMA, "--format", "json")[1])["gate"]["targets"]) == 28
    assert max(map(len, out.splitlines())) <= 120
    assert "(a rendezvous of the warp, not of the warpgroup)" in " ".join(out.split())
    assert "\n  since 8.7 on sm_120f, sm_120a, sm_121f, sm_121a\n" in run("show", MX4)[1]
    out = run("show", "wgmma.fence")[1]
    assert "\n  since 8.0 on sm_90a\n  form: no operands\n  execution contract\n" in out


def test_what_was_removed_is_not_deprecated_later(run: Run) -> None:
    """9.7.14.4.5: .satfinite is deprecated in PTX ISA 6.4; without .aligned, wmma was removed in 6.3."""
    name = "wmma.mma.sync.row.row.m16n16k16.f32.f32.satfinite"
    assert " since 6.0, removed 6.3; sm_70, sm_72\n" in run("list", name)[1]
    assert " since 6.0, removed 6.3 on sm_70, sm_72\n" in run("show", name)[1]
    name = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32.satfinite"
    assert " since 6.3, deprecated 6.4, removed 6.5; sm_70, sm_72, sm_75\n" in run("list", name)[1]
