"""A statement with the word of its instruction descriptor, for an invented instruction that takes one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ptxmma.spec.described_operands import judge_with_word
from ptxmma.spec.errors import Question, SpecError
from ptxmma.spec.loading import PACKAGE, load_files
from ptxmma.spec.specification import Specification

INVENTED = """
instruction: tile.told
name: tile.told
title: Multiply what a word says
source: {section: "0.3"}
gate: {since: "8.6", deprecated: null, removed: null, targets: [sm_100a, sm_103a]}
scope: thread
syntax: "tile.told.{cta_group}.{kind}{.block}"
shape: null
operands:
  idesc: {part: instruction, what: what is multiplied, accepts: [register, immediate], types: [b32],
    word: {descriptor: "tcgen05.{kind}", settings: {cta_group: "where(cta_group == cta_group_2, 2, 1)", sp: 0},
      where: "kind != kind_unheard"}}
forms:
  plain: {operands: [idesc]}
  none: {operands: []}
execution: []
rows:
  - {id: told, bind: {cta_group: ["cta_group::1", "cta_group::2"], kind: ["kind::f16", "kind::mxf4", "kind::unheard"], block: none},
    count: 6, forms: [plain], numerical: []}
  - {id: untold, bind: {cta_group: "cta_group::1", kind: "kind::f16", block: block}, count: 1, forms: [none], numerical: []}
"""
F16 = "tile.told.cta_group::{}.kind::f16 %r1;"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("told")
    shutil.copytree(PACKAGE / "spec", root / "spec", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (root / "spec" / "instructions" / "tile.told.yaml").write_text(INVENTED)
    index = (PACKAGE / "specs.yaml").read_text()
    line = "\ninstructions:\n"
    assert line in index
    (root / "specs.yaml").write_text(index.replace(line, f"{line}  - spec/instructions/tile.told.yaml\n"))
    return root


@pytest.fixture(scope="module")
def told(root: Path) -> Specification:
    return load_files(root)


@pytest.mark.parametrize(
    ("statement", "word", "verdict", "codes"),
    [
        (F16.format(1), 0x08200490, "legal", []),
        (F16.format(2), 0x08200490, "legal", []),
        (F16.format(2), 0x10200490, "legal", []),
        (F16.format(1), 0x10200490, "illegal", ["descriptor.M.one"]),
        (F16.format(1), 0x08200494, "illegal", ["descriptor.sparse"]),
        ("tile.told.cta_group::1.kind::mxf4 %r1;", 0x08900480, "legal", []),
        ("tile.told.cta_group::1.kind::mxf4 %r1;", 0x08200490, "illegal", ["descriptor.value"]),
        ("tile.told.cta_group::1.kind::f16;", 0x08200490, "illegal", ["operand.count"]),
        ("tile.told.cta_group::3.kind::f16 %r1;", 0x08200490, "illegal", ["qualifier.missing"]),
        ("tile.untold %r1;", 0x08200490, "unknown", ["opcode.unknown"]),
    ],
)
def test_a_word(told: Specification, statement: str, word: int, verdict: str, codes: list[str]) -> None:
    found, _, _ = judge_with_word(told, told.judge("8.6", "sm_100a"), statement, word)
    assert found.verdict == verdict
    assert [reason.code for reason in found.reasons][: len(codes)] == codes


def test_a_gate_of_a_rule(told: Specification) -> None:
    """A K of 96 is that of sm_103a, from PTX ISA 8.8 on."""
    statement, word = "tile.told.cta_group::1.kind::mxf4 %r1;", 0x88900480
    for ptx, target, legal in (("8.8", "sm_103a", True), ("8.8", "sm_100a", False), ("8.7", None, False)):
        found, _, _ = judge_with_word(told, told.judge(ptx, target), statement, word)
        assert bool(found) == legal
    assert judge_with_word(told, told.judge(), statement, word)[0]


@pytest.mark.parametrize(
    ("statement", "word", "said"),
    [
        ("tile.told.cta_group::1.kind::unheard %r1;", 0, "is not known"),
        ("tile.told.cta_group::1.kind::f16.block;", 0, "takes no instruction descriptor"),
        (F16.format(1), 1 << 32, "not a 32-bit word"),
        (F16.format(1), -1, "not a 32-bit word"),
    ],
)
def test_what_cannot_be_asked(told: Specification, statement: str, word: int, said: str) -> None:
    with pytest.raises(Question, match=said):
        judge_with_word(told, told.judge(), statement, word)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tcgen05.{kind}", "tcgen06.{kind}", "no descriptor 'tcgen06.f16'"),
        ("tcgen05.{kind}", "tcgen05.{kin}", "names 'kin'"),
        ("sp: 0}", "sparse: 0}", "has the setting 'sparse'"),
        ("sp: 0}", "sp: 2}", "sp: 2 is not a value"),
        ("kind != kind_unheard", "kind != kind_f16", "no descriptor 'tcgen05.unheard'"),
    ],
)
def test_what_the_loader_refuses(root: Path, old: str, new: str, said: str) -> None:
    file = root / "spec" / "instructions" / "tile.told.yaml"
    assert INVENTED.count(old) == 1
    file.write_text(INVENTED.replace(old, new))
    with pytest.raises(SpecError, match=said) as refused:
        load_files(root)
    file.write_text(INVENTED)
    assert refused.value.render().startswith("spec/instructions/tile.told.yaml:")


HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
KERNEL = """\
.visible .entry k{number}(.param .u32 p)
{{
  .reg .b32 %r<8>;
  .reg .pred %p<2>;
  ld.param.u32 %r2, [p];
  mov.b32 %r1, {word};
  {more}
  tile.told.cta_group::1.kind::mxf4 %r1;
  ret;
}}
"""
OTHER = "setp.ne.u32 %p1, %r2, 0;\n  @%p1 mov.b32 %r1, 0x08900480;"
WORDS = [
    ("0x08900480", "", ""),
    ("0x10900480", "", "error descriptor-field: idesc is 0x10900480: one CTA takes an M of 128 (M = 256,"),
    ("0x08900482", "", "error descriptor-field: idesc is 0x08900482: the reserved bit 1 is set"),
    (
        "0x88900480",
        "",
        "error descriptor-field: idesc is 0x88900480: a dense K of 96 needs sm_103a or sm_107a (sparse = 0, K = k96",
    ),
    ("0x08900484", "", "likely descriptor-field: idesc is 0x08900484: the sparsity bit says what"),
    ("0x08901480", "", ""),  # CUTLASS's Python sets the bit
    ("0x10900480", OTHER, ""),  # either may come
    ("%r2", "", ""),
]


def ask(root: Path, *words: str) -> tuple[int, str]:
    """A command in a process of its own, which reads this specification: its exit code and what it prints."""
    environment = {**os.environ, "PTXMMA_SPECIFICATION": str(root), "PYTHONPATH": str(PACKAGE / ".import")}
    done = subprocess.run(
        [sys.executable, "-m", "ptxmma", *words], env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_check_judges_constant_words(root: Path, tmp_path: Path) -> None:
    """One kernel a word."""
    file = tmp_path / "k.ptx"
    kernels = [KERNEL.format(number=n, word=word, more=more) for n, (word, more, _) in enumerate(WORDS)]
    file.write_text(HEAD + "".join(kernels))
    code, out = ask(root, "check", str(file))
    found = [line for line in out.splitlines() if "descriptor-field" in line]
    said = [words for _, _, words in WORDS if words]
    assert code == 1 and len(found) == len(said), out
    assert all(words in line for words, line in zip(said, found, strict=True)), out


def test_the_command_says_which_fields_and_how_many(root: Path) -> None:
    statement = F16.format(1)
    code, out = ask(root, "legal", statement, "--idesc", "0x08200490", "--target", "sm_100a")
    assert code == 0 and out.startswith("legal: tile.told.cta_group::1.kind::f16")
    assert "bits 24..28 M                              128" in out
    assert "legal with cta_group = 1, sp = 0, ws = 0, ashift = 0\n  5,120 of 4,294,967,296" in out
    code, out = ask(root, "legal", statement, "--idesc", "0x10200490", "--format", "json")
    value = json.loads(out)
    assert code == 1 and value["verdict"] == "illegal" and value["idesc"]["fields"]["M"] == 256
    assert [reason["code"] for reason in value["idesc"]["reasons"]] == ["descriptor.M.one"]
