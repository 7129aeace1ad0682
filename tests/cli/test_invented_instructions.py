"""Invented instructions, written in YAML alone: every command works for them.

tests/invented/ holds them: warp-level and warpgroup-level products and a move of matrices, with operand names,
a shape, fragments and a descriptor of their own. A command reads them in a process of its own, from a copy of
the specification. What is expected here was worked out by hand.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ptxmma.devices.probes.measurements import measure, survey
from ptxmma.devices.stand_in import StandIn
from ptxmma.ledger.measured_points import judge
from ptxmma.ledger.silicon_verdicts import anchor
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import PACKAGE, load_files
from ptxmma.spec.specification import Specification

INVENTED = PACKAGE / "tests" / "invented"
INSTRUCTIONS = ("tile.mul", "tile.few", "tile.fetch", "group.mul")
TILE = "tile.mul.sync.m16n16k8.f32.f16.f16"
HALF = "tile.mul.sync.m16n16k8.f16.f16.f16"
FEW = "tile.few.sync.m16n8k16.f32.f16"
FETCH = "tile.fetch.sync.t8by8.by2.shared.b16"
GROUP = "group.mul.sync.m64n24k16.f32.f16.f16"

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the specification that has the invented instructions, too."""
    root = tmp_path_factory.mktemp("invented")
    shutil.copytree(PACKAGE / "spec", root / "spec", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in INSTRUCTIONS:
        shutil.copy(INVENTED / f"{name}.yaml", root / "spec" / "instructions")
    shutil.copy(INVENTED / "layouts.yaml", root / "spec" / "layouts" / "invented.yaml")
    for path, text in yaml.safe_load((INVENTED / "appended.yaml").read_text()).items():
        with (root / path).open("a") as file:
            file.write(textwrap.indent(text, "  "))
    index = (PACKAGE / "specs.yaml").read_text()
    for listed, names in (
        ("instructions", [f"spec/instructions/{name}.yaml" for name in INSTRUCTIONS]),
        ("layouts", ["spec/layouts/invented.yaml"]),
    ):
        lines = "".join(f"  - {name}\n" for name in names)
        assert f"\n{listed}:\n" in index
        index = index.replace(f"\n{listed}:\n", f"\n{listed}:\n{lines}")
    (root / "specs.yaml").write_text(index)
    return root


@pytest.fixture(scope="module")
def invented(root: Path) -> Specification:
    return load_files(root)


@pytest.fixture(scope="module")
def command(root: Path) -> Command:
    """Run a command on that specification: exit code, standard output, standard error."""
    environment = {**os.environ, "PTXMMA_SPECIFICATION": str(root), "PYTHONPATH": str(PACKAGE / ".import")}

    def call(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "ptxmma", *words], env=environment, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    return call


def test_the_package_itself_does_not_hold_them(specification: Specification) -> None:
    assert not set(INSTRUCTIONS) & set(specification.instructions)


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("tile.mul", [f"{HALF}  since 8.0; sm_90a", f"{TILE}  since 8.0; sm_90a"]),
        (
            "group.mul",
            ["group.mul.sync.m64n8k16.f32.f16.f16   since 8.2; sm_90a", f"{GROUP}  since 8.2; sm_90a"],
        ),
    ],
)
def test_list(command: Command, pattern: str, lines: list[str]) -> None:
    code, out, _ = command("list", pattern)
    assert code == 0 and out.splitlines()[:-1] == lines


def test_show(command: Command) -> None:
    code, out, _ = command("show", GROUP, "--format", "json")
    shown = json.loads(out)
    assert code == 0
    assert shown["forms"] == [
        {"a": "descriptor", "gate": None, "operands": ["sum", "near-slab", "far-slab", "keep", "sign"]},
        {"a": "register", "gate": None, "operands": ["sum", "near", "far-slab", "keep", "sign"]},
    ]
    # 64 x 24 sums of 32 bits in 128 threads are 12 registers, 64 x 16 values of 16 bits are 4
    assert shown["operands"]["sum"] == "the sum, m x n; 12 registers of type .b32 or .f32"
    assert (
        shown["operands"]["near"] == "the near matrix in registers, m x k; 4 registers of type .b32 or .f16x2"
    )
    assert set(shown["layouts"]) == {"A", "D"}


def vector(kind: str, count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"%{kind}{first + number}" for number in range(count)) + "}"


@pytest.mark.parametrize(
    ("statement", "verdict", "reasons"),
    [
        (f"{TILE} {vector('f', 8)}, {vector('r', 2)}, {vector('r', 2, 2)}, {vector('f', 8)};", "legal", []),
        (f"{HALF} {vector('r', 4)}, {vector('r', 2)}, {vector('r', 2)}, {vector('r', 4)};", "legal", []),
        (
            f"{TILE} {vector('f', 7)}, {vector('r', 2)}, {vector('r', 2, 2)}, {vector('f', 8)};",
            "illegal",
            ["out"],
        ),
        (
            f"{TILE.replace('.f16.f16', '.f16.tf32')} {vector('f', 8)}, {vector('r', 2)}, {vector('r', 2)}, "
            f"{vector('f', 8)};",
            "illegal",
            ["righttype"],
        ),
        (
            f"{FEW} {vector('f', 4)}, {vector('r', 2)}, {vector('r', 2)}, %r4, 3, {vector('f', 4)};",
            "legal",
            [],
        ),
        (
            f"{FEW} {vector('f', 4)}, {vector('r', 2)}, {vector('r', 2)}, %r4, 4, {vector('f', 4)};",
            "illegal",
            ["pick is 4; it must be 0 or 1 or 2 or 3"],
        ),
        (f"{FETCH} {vector('r', 2)}, [%r4];", "legal", []),
        (f"{FETCH} {vector('r', 1)}, [%r4];", "illegal", ["into"]),
        (f"{GROUP} {vector('f', 12)}, %d0, %d1, %p0, -1;", "legal", []),
        (f"{GROUP} {vector('f', 12)}, %d0, %d1, %p0, 2;", "illegal", ["sign is 2"]),
    ],
)
def test_legal(command: Command, statement: str, verdict: str, reasons: list[str]) -> None:
    code, out, _ = command("legal", statement, "--ptx", "9.0", "--target", "sm_90a", "--format", "json")
    found = json.loads(out)
    assert (found["verdict"], code) == (verdict, {"legal": 0, "illegal": 1}[verdict])
    messages = [reason["message"] for reason in found["reasons"]]
    assert len(messages) == len(reasons)
    assert all(part in message for part, message in zip(reasons, messages, strict=True))


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        # tile.out: row t // 2, column 8*(t % 2) + i; two halves a register
        (
            [HALF, "--operand", "D", "--thread", "5", "--element", "3"],
            "(register 1, bits 16..31) holds row 2, column 11",
        ),
        (
            [TILE, "--operand", "out", "--row", "2", "--col", "11"],
            "thread 5 d3 (register 3, bits 0..31) holds",
        ),
        # tile.right: row 4*(t // 16) + i, column t % 16
        ([TILE, "--operand", "right", "--thread", "20", "--element", "1"], "holds row 5, column 4"),
        (
            [FEW, "--operand", "tags", "--selector", "1", "--thread", "5", "--bit", "3"],
            "bit 1 of index 1 of chunk 0 of row 1",
        ),
        (
            [FETCH, "--operand", "from", "--matrix", "1", "--row", "3"],
            "thread 11 supplies the address of row 3 of matrix 1",
        ),
        (
            [GROUP, "--operand", "near", "--a-source", "register", "--thread", "33", "--element", "2"],
            "holds row 24, column 2",
        ),
    ],
)
def test_layout(command: Command, words: list[str], answer: str) -> None:
    code, out, err = command("layout", *words)
    assert code == 0 and answer in out, err


def test_a_matrix_behind_a_descriptor_has_no_layout(command: Command) -> None:
    code, _, err = command("layout", GROUP, "--operand", "B")
    assert code == 2 and "lies in shared memory, behind a matrix descriptor" in err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["encode", "--kind", "slab", "origin=0x40", "leap=256", "fold=folded"], "0x2000010000000004"),
        # row 9 is row 1 of block 1: 64 + 256 + 1*16 bytes, and element 3 lies 6 bytes further
        (
            ["address", "--kind", "slab", "0x0000010000800004", "--row", "9", "--k", "3"],
            "element (9, 3) lies at 0x156",
        ),
    ],
)
def test_descriptor(command: Command, words: list[str], answer: str) -> None:
    code, out, err = command("descriptor", *words)
    assert code == 0 and answer in out, err


def test_a_descriptor_of_no_kind(command: Command) -> None:
    code, _, err = command("descriptor", "decode", "--kind", "slob", "0")
    assert code == 2 and "slob" in err and "slab" in err


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["tile*", "group.mul/f16", "*slab*"])
def test_prove(command: Command, pattern: str) -> None:
    code, out, err = command("prove", pattern, "--solver", "z3", "--format", "json")
    assert code == 0, err
    assert out.count('"proven"') >= 2 and '"refuted"' not in out


@pytest.mark.slow
def test_a_suite_is_emitted_and_passes_on_the_stand_in(command: Command, tmp_path: Path) -> None:
    code, out, err = command("gen", "[gt][ri][ol]*", "--out", str(tmp_path / "suite"))
    assert code == 0, err
    rows = {line.split()[0]: int(line.split()[5]) for line in out.splitlines() if "pairs" in line}
    assert set(rows) == {"tile.mul/f16", "tile.few/f16", "tile.fetch/b16", "group.mul/f16"}
    assert all(cases >= 6 for cases in rows.values())
    code, out, err = command("run", str(tmp_path / "suite"), "--via", "stand-in")
    assert code == 0, err + out
    assert f"{sum(rows.values())} passed" in out


@pytest.mark.slow
def test_evidence(command: Command) -> None:
    code, out, _ = command("evidence", "group.mul/f16", "--format", "json")
    assert code == 1  # no assembler and no device has been asked
    claims = {claim["claim"] for claim in json.loads(out)} if isinstance(json.loads(out), list) else set()
    assert {"group.mul/f16", "wgmma.d", "slab-k"} <= claims


def test_clauses(command: Command) -> None:
    code, out, err = command("clauses", "--format", "json")
    assert code == 0, err
    clauses = {clause["id"]: clause for clause in json.loads(out)}
    assert clauses["num.tile"]["users"] == ["tile.mul/f16", "tile.few/f16"]
    assert clauses["num.group"]["consumers"] == ["cases sums", "cases of every keep"]


KERNEL = f"""\
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{{
  .reg .f32 %f<16>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  .reg .pred %p<2>;
  {TILE} {vector("f", 8)}, {vector("r", 2)}, {vector("r", 2, 2)}, {vector("f", 8, 8)};
  {GROUP.replace("n24", "n8")} {vector("f", 4)}, %d0, %d1, %p0, 1;
  ret;
}}
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "finding"),
    [
        ("", "", 0, ""),
        (
            ".f32.f16.f16 {%f0, %f1, %f2, %f3, %f4",
            ".f32.f16.bf16 {%f0, %f1, %f2, %f3, %f4",
            1,
            "righttype is .bf16; allowed: .f16",
        ),
        ("%p0, 1;", "%p0, 7;", 1, "sign is 7; it must be -1 or 1"),
    ],
)
def test_check(command: Command, tmp_path: Path, old: str, new: str, code: int, finding: str) -> None:
    file = tmp_path / "kernel.ptx"
    assert old in KERNEL
    file.write_text(KERNEL.replace(old, new) if old else KERNEL)
    exit_code, out, err = command("check", str(file))
    assert exit_code == code, out + err
    assert finding in out and ("error" in out.split("not judged")[0] or "2 not judged" in out)
    for name in ("tile.mul", "group.mul"):
        assert f"not judged: {name} (1 statement)" in out
    assert out.count("what it orders was not judged") == 2


def test_schema(command: Command) -> None:
    code, out, _ = command("schema")
    assert code == 0 and json.loads(out) == json.loads((PACKAGE / "spec" / "schema.json").read_text())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tile.mul", "nothing: maps are compared"),
        ("tile.fetch", "rows by the lane that gives the address"),
        ("group.mul", "rows and k by addresses of A"),
    ],
)
def test_what_names_a_measured_map(invented: Specification, name: str, words: str) -> None:
    assert anchor(invented, invented.instructions[name]).startswith(words)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_maps_are_measured_and_agree(invented: Specification, name: str) -> None:
    """The probes recover every map, the metadata and the addresses from a stand-in of the instruction."""
    subjects = [s for s in survey(invented) if s.kernel.instruction.instruction == name]
    chosen = {subject.what: subject for subject in reversed(subjects)}
    kinds = {
        "tile.mul": {"maps"},
        "tile.few": {"maps", "metadata"},
        "tile.fetch": {"matrices"},
        "group.mul": {"maps", "accumulator", "memory A", "memory B"},
    }
    assert set(chosen) == kinds[name]
    for subject, values in measure(invented, StandIn(invented), list(chosen.values())):
        points, faults = judge(invented, subject.kernel.variant, subject.what, subject.id, values)
        assert points > 0 and not faults, (subject, faults[:3])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("descriptor: slab, contains: fartype", "descriptor: slob, contains: fartype", "slob"),
        ("descriptor: slab, contains: fartype", "descriptor: slab", "contains"),
        ("contains: fartype", "contains: farkind", "farkind"),
    ],
)
def test_what_the_loader_refuses(root: Path, tmp_path: Path, old: str, new: str, said: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    file = copy / "spec" / "instructions" / "group.mul.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(SpecError, match=said):
        load_files(copy)
