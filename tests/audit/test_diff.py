"""Changes between two versions, against values typed from the text; and the meaning of a change to the YAML."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ptxmma.assemblers.classification as classification
import ptxmma.assemblers.toolchains as toolchains
from ptxmma.assemblers.outcomes import SilentAssembler, StatementOutcome
from ptxmma.audit.folding import fold
from ptxmma.formal.layout_equality import compare
from ptxmma.spec.errors import Question
from ptxmma.spec.expressions import parse
from ptxmma.spec.loading import ROOT
from ptxmma.spec.maps import LayoutMap
from ptxmma.spec.nodes import Formula, Version
from ptxmma.spec.specification import Specification
from ptxmma.spec.variants import Variant

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def diff(run: Run) -> Callable[..., dict[str, Any]]:
    def call(*arguments: str) -> dict[str, Any]:
        code, out, err = run("diff", *arguments, "--format", "json")
        assert (code, err) == (0, "")
        document: dict[str, Any] = json.loads(out)
        valid("diff-spec" if "--spec" in arguments else "diff", document)
        return document

    return call


Diff = Callable[..., dict[str, Any]]


def spelled(document: dict[str, Any], kind: str, instruction: str, field: str = "mnemonics") -> set[str]:
    """The mnemonics that changed in one way, each of them once."""
    changes = [c for c in document["changes"] if (c["kind"], c["instruction"]) == (kind, instruction)]
    found = [mnemonic for change in changes for mnemonic in change[field]]
    assert len(set(found)) == len(found)
    return set(found)


# Values typed from the text.

INTEGER_N = [8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256]


def test_mixed_signs_came_with_8_4(diff: Diff) -> None:
    document = diff("8.3", "8.4")
    assert document["counts"] == {
        "wgmma.mma_async.sp": {"added": 72},
        "wgmma.mma_async": {"added": 72},
        "mma": {"added": 4},
        "mma.sp": {"added": 4},
    }
    for name, k in (("wgmma.mma_async.sp", 64), ("wgmma.mma_async", 32)):
        assert spelled(document, "added", name) == {
            f"{name}.sync.aligned.m64n{n}k{k}{clamp}.s32.{signs}"
            for n in INTEGER_N
            for clamp in ("", ".satfinite")
            for signs in ("u8.s8", "s8.u8")
        }
    assert spelled(document, "added", "mma") == {
        f"mma.sync.aligned.m16n8k32.row.col.f32.{a}.{b}.f32"
        for a in ("e4m3", "e5m2")
        for b in ("e4m3", "e5m2")
    }
    first = document["changes"][0]
    assert first["patterns"] == [
        {
            "pattern": "wgmma.mma_async.sp.sync.aligned.m64n{8..256}k64{.satfinite}.s32.{s8.u8,u8.s8}",
            "mnemonics": 72,
        }
    ]
    assert (first["section"], first["rows"], first["targets"]) == ("9.7.15.6.3", ["integer"], ["sm_90a"])
    verdicts = [(v["ptxas"], v["statements"], v["accepted"], v["refused"]) for v in first["verdicts"]]
    assert verdicts == [("12.3.107", 144, 0, 144), ("12.4.131", 144, 144, 0)]
    assert not any(v["against"] or v["unrecorded"] for c in document["changes"] for v in c["verdicts"])


def test_aligned_became_mandatory_in_6_3(diff: Diff) -> None:
    document = diff("6.2", "6.3")
    shapes, layouts, floats = ("m16n16k16", "m8n32k16", "m32n8k16"), ("row", "col"), ("f16", "f32")
    tails = {
        f".{a}.{b}.{shape}.{d}.{c}{clamp}"
        for a, b, shape in itertools.product(layouts, layouts, shapes)
        for d, c in itertools.product(floats, floats)
        for clamp in ("", ".satfinite")
    }
    assert len(tails) == 96
    assert spelled(document, "required", "wmma.mma") == {f"wmma.mma.sync.aligned{tail}" for tail in tails}
    assert spelled(document, "required", "wmma.mma", "before") == {f"wmma.mma.sync{tail}" for tail in tails}
    assert spelled(document, "removed", "wmma.mma") == set()
    new = spelled(document, "added", "wmma.mma")
    assert (
        len([name for name in new if re.search(r"\.m(16n16|8n32|32n8)k16\.s32\.(s8\.s8|u8\.u8)\.s32", name)])
        == 48
    )
    assert {name for name in new if "m8n8" in name} == {
        "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        *(
            f"wmma.mma.sync.aligned.row.col.m8n8k32.s32.{t}.{t}.s32{clamp}"
            for t in ("s4", "u4")
            for clamp in ("", ".satfinite")
        ),
    }
    assert len(spelled(document, "required", "wmma.load.a")) == 3 * 2 * 3
    assert len(spelled(document, "required", "wmma.store.d")) == 3 * 2 * 2 * 3
    assert document["changes"][-1]["why"][0] == ".aligned became mandatory"


def test_float_satfinite_went_with_6_5(diff: Diff) -> None:
    gone = {
        f"wmma.mma.sync.aligned.{a}.{b}.{shape}.{d}.{c}.satfinite"
        for a, b in itertools.product(("row", "col"), repeat=2)
        for shape in ("m16n16k16", "m8n32k16", "m32n8k16")
        for d, c in itertools.product(("f16", "f32"), repeat=2)
    }
    assert len(gone) == 48
    document = diff("6.4", "6.5")
    assert spelled(document, "removed", "wmma.mma") == gone
    assert spelled(document, "added", "mma") == {
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        *(
            f"mma.sync.aligned.{shape}.row.col{clamp}.s32.{s}{bits}.{t}{bits}.s32"
            for shape, bits in (("m8n8k16", 8), ("m8n8k32", 4))
            for clamp in ("", ".satfinite")
            for s, t in itertools.product("su", repeat=2)
        ),
    }
    assert spelled(diff("6.3", "6.4"), "deprecated", "wmma.mma") == gone
    back = diff("6.5", "6.4")
    assert spelled(back, "added", "wmma.mma") == gone
    assert "ldmatrix" in {c["instruction"] for c in back["changes"] if c["kind"] == "removed"}
    assert spelled(diff("6.4", "6.3"), "reinstated", "wmma.mma") == gone


def test_8_7_is_compared_with_a_version_without_an_assembler(diff: Diff, run: Run) -> None:
    document = diff("8.6", "8.7", "--target", "sm_90")
    assert document["old"] == {
        "ptx": "8.6",
        "ptxas": "12.8.93",
        "own": False,
        "words": "no assembler of its own; read through 12.8 (ptxas 12.8.93)",
    }
    assert document["new"]["own"]
    types = list(itertools.product(("e4m3", "e5m2"), repeat=2))
    assert spelled(document, "added", "mma") == {
        f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}"
        for a, b in types
        for shape, d in (("m16n8k16", "f16"), ("m16n8k16", "f32"), ("m16n8k32", "f16"))
    }
    assert document["counts"] == {"mma": {"added": 12}}
    scaled = spelled(diff("8.6", "8.7", "mma.sync*mxf4*"), "added", "mma")
    head = "mma.sync.aligned.m16n8k64.row.col.kind::"
    assert scaled == {
        f"{head}mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        f"{head}mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        f"{head}mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        f"{head}mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    }
    _, out, _ = run("diff", "8.6", "8.7")
    assert "8.6: no assembler of its own; read through 12.8 (ptxas 12.8.93)" in out


def test_9_4_brought_a_matrix_type_and_a_target(diff: Diff) -> None:
    document = diff("9.3", "9.4")
    assert spelled(document, "added", "ldmatrix") == {
        f"ldmatrix.sync.aligned.m8n16.{num}{space}.s8.s4"
        for num in ("x1", "x2", "x4")
        for space in ("", ".shared", ".shared::cta")
    }
    new = {target for c in document["changes"] if c["new_targets"] for target in c["targets"]}
    assert new == {"sm_107", "sm_107f", "sm_107a"}
    assert {c["kind"] for c in document["changes"]} == {"added", "widened"}
    on = diff("9.3", "9.4", "--target", "sm_107")
    assert {c["kind"] for c in on["changes"]} == {"added"}
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in spelled(on, "added", "mma")
    on = diff("9.3", "9.4", "--target", "sm_90a")
    assert on["counts"] == {"ldmatrix": {"added": 9}}


# The command.


def test_text_and_markdown(run: Run) -> None:
    code, out, _ = run("diff", "8.3", "8.4", "wgmma.mma_async.sp")
    assert code == 0
    assert out == (
        """\
PTX ISA 8.3 → 8.4
  8.3: ptxas 12.3.107
  8.4: ptxas 12.4.131
  verdicts of these assemblers: from the record
  Sections are those of PTX ISA 9.2; 9.7.14 is 9.7.16 in 9.4; 9.7.15 is 9.7.17 in 9.4; 9.7.16 is 9.7.18 in 9.4.

mnemonics that changed
                      added
  wgmma.mma_async.sp     72
  all                    72

added
  wgmma.mma_async.sp, row integer (9.7.15.6.3), on sm_90a
    gate mixed-signedness (.u8.s8 and .s8.u8 came with PTX ISA 8.4): since 8.4
    wgmma.mma_async.sp.sync.aligned.m64n{8..256}k64{.satfinite}.s32.{s8.u8,u8.s8}: 72 mnemonics
    8.3 by ptxas 12.3.107, sm_90a: refuses 144 of 144
    8.4 by ptxas 12.4.131, sm_90a: accepts 144 of 144
"""
    )
    _, out, _ = run("diff", "8.3", "8.4", "wgmma.mma_async.sp", "--format", "markdown")
    assert "| wgmma.mma_async.sp | 72 |" in out and "|---|---:|" in out
    assert (
        "  - `wgmma.mma_async.sp.sync.aligned.m64n{8..256}k64{.satfinite}.s32.{s8.u8,u8.s8}`: 72 mnemonics"
        in out
    )


def test_9_0_renamed_a_target_and_brought_another(diff: Diff, run: Run) -> None:
    """One line a fact: sm_101 is sm_110 from 9.0 on (so says every tcgen05 instruction), and sm_88 is new."""
    code, out, _ = run("diff", "8.8", "9.0")
    assert code == 0
    assert out.count("sm_110") == 3 and out.count("sm_88") == 1 and len(out.splitlines()) == 10
    assert "PTX ISA 9.0 renamed sm_101 to sm_110, sm_101f to sm_110f, sm_101a to sm_110a" in out
    assert "  sm_88 (since 9.0): 772 mnemonics (mma 79, mma.sp 80, " in out
    for old, new in (("8.8", "9.0"), ("9.0", "8.8")):
        document = diff(old, new)
        assert document["renamed"] == [
            {"old": f"sm_101{suffix}", "new": f"sm_110{suffix}", "since": "9.0"} for suffix in ("", "f", "a")
        ]
        assert {target for c in document["changes"] for target in c["targets"]} == {"sm_88"}
        assert {why for c in document["changes"] for why in c["why"]} == {
            "the target sm_88 itself: since 9.0"
        }
    on = diff("8.8", "9.0", "--target", "sm_110a")
    assert len(on["renamed"]) == 1 and not on["changes"]
    assert run("diff", "8.8", "9.0", "--target", "sm_101a", "--exit-code")[0] == 1
    assert diff("9.0", "9.1")["renamed"] == diff("8.7", "8.8")["renamed"] == []


def test_new_targets_are_told_once(run: Run) -> None:
    code, out, _ = run("diff", "9.3", "9.4")
    assert code == 0
    lines = [line.split(": ")[0] for line in out.splitlines() if "(since 9.4)" in line]
    # Each takes more than the one before.
    assert lines == [f"  {target} (since 9.4)" for target in ("sm_107", "sm_107f", "sm_107a")]
    olds = [line for line in out.splitlines() if "sm_107" in line and "since 9.4" not in line]
    assert all("on sm_107" in line or ", sm_107" in line for line in olds) and "widened" not in out
    _, out, _ = run("diff", "9.4", "9.3")
    assert "targets that the second version has not" in out
    _, out, _ = run("diff", "9.3", "9.4", "--target", "sm_107")
    assert "  sm_107 (since 9.4): " in out and len(out.splitlines()) < 20


def test_an_assembler_without_the_target_is_named(
    diff: Diff, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ptxas 13.0 knows no sm_101: `Value 'sm_101f' is not defined for option 'gpu-name'`."""

    def classify(ptxas: Any, statements: Sequence[str], ptx: Version, target: str) -> list[StatementOutcome]:
        if target.startswith("sm_101"):
            raise SilentAssembler("asked", f"Value '{target}' is not defined")
        return [StatementOutcome("accepted")] * len(statements)

    fake(monkeypatch, lambda *_: None)
    monkeypatch.setattr(classification, "classify", classify)
    document = diff("8.5", "9.0", "movmatrix", "--evidence")
    verdicts = [v for c in document["changes"] for v in c["verdicts"] if v["ptx"] == "9.0"]
    silent = {v["target"]: v["not_asked"] for v in verdicts if v["not_asked"]}
    assert silent == {
        f"sm_101{suffix}": f"Value 'sm_101{suffix}' is not defined" for suffix in ("", "f", "a")
    }
    assert all(v["accepted"] == 0 for v in verdicts if v["not_asked"])
    assert any(v["accepted"] == 1 for v in verdicts)
    _, out, _ = run("diff", "8.5", "9.0", "movmatrix", "--evidence")
    assert "NOT ASKED: ptxas 13.0.88 about sm_101, sm_101f, sm_101a: Value 'TARGET' is not defined" in out


def test_what_is_not_recorded_is_said_to_be(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxmma.ledger.assembler_record.load_records", lambda: ())
    code, out, _ = run("diff", "8.3", "8.4", "wgmma.mma_async.sp")
    assert code == 0 and "sm_90a: 144 not recorded (--evidence asks)" in out


@pytest.mark.slow
def test_every_pair_of_neighbours_is_short(run: Run, specification: Specification) -> None:
    versions = [str(version) for version in specification.isa.versions]
    for old, new in itertools.pairwise(versions):
        code, out, err = run("diff", old, new)
        assert (code, err) == (0, "") and len(out.splitlines()) < 300, (old, new)


def test_exit_codes(run: Run) -> None:
    assert run("diff", "8.3", "8.4")[0] == 0
    assert run("diff", "8.3", "8.4", "--exit-code")[0] == 1
    code, out, _ = run("diff", "8.4", "8.4", "--exit-code")
    assert code == 0 and "no difference" in out
    for arguments, words in (
        (["8.3", "8.9"], "8.9 is not known; known are 3.1, 3.2"),
        (["8.3", "eight"], "write it like 8.4"),
        (["8.3", "8.4", "--target", "sm_91a"], "'sm_91a' is not known; known are sm_35, sm_37"),
        (["8.3", "8.4", "--target", "SM-90a"], "did you mean sm_90a?"),
        (["8.3", "8.4", "bogus*"], "nothing matches 'bogus*'"),
        (["--spec", "HEAD", "HEAD", "mma"], "go with two PTX versions"),
    ):
        code, out, err = run("diff", *arguments)
        assert (code, out) == (2, "") and words in err


# Patterns.


def expression(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression, as the module says that it is to be read."""
    text = re.sub(r"\{(\d+)\.\.(\d+)\}", "<number>", pattern)

    def alternatives(found: re.Match[str]) -> str:
        options = [re.escape(option) for option in found[1].split(",")]
        return f"(?:{'|'.join(options)}){'?' if found[1].startswith('.') else ''}"

    pieces = re.split(r"(\{[^{}]*\})", text)
    written = "".join(
        re.sub(r"\{([^{}]*)\}", alternatives, p) if p.startswith("{") else re.escape(p) for p in pieces
    )
    return re.compile(written.replace("<number>", r"(?:\d+)"))


def check_folding(variants: Sequence[Variant]) -> None:
    patterns = fold(variants)
    found = [0] * len(patterns)
    read = [expression(pattern.text) for pattern in patterns]
    for variant in variants:
        matching = [i for i, regular in enumerate(read) if regular.fullmatch(variant.mnemonic)]
        assert matching, variant.mnemonic
        if len(matching) == 1:
            found[matching[0]] += 1
    assert sum(pattern.count for pattern in patterns) == len(variants)
    assert all(n <= pattern.count for n, pattern in zip(found, patterns, strict=True))


def test_patterns_spell_what_they_fold(specification: Specification) -> None:
    chance = random.Random(4)
    for family in specification.families.values():
        variants = list(family.listed())
        check_folding(variants)
        for size in (1, 2, len(variants) // 3, len(variants) - 1):
            check_folding(chance.sample(variants, max(min(size, len(variants)), 1)))


def test_patterns_without_ranges_expand_to_the_same_set(specification: Specification) -> None:
    """The expansion of every pattern without a range is exactly what it folds."""
    for name in ("mma", "mma.sp", "wmma.mma", "ldmatrix", "wmma.load.a"):
        variants = list(specification.families[name].listed())
        expanded = [text for pattern in fold(variants) for text in expand(pattern.text)]
        assert sorted(expanded) == sorted(variant.mnemonic for variant in variants)


def expand(pattern: str) -> list[str]:
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    options = found[1].split(",") + ([""] if found[1].startswith(".") else [])
    heads = [pattern[: found.start()] + option for option in options]
    return [head + tail for tail in expand(pattern[found.end() :]) for head in heads]


# The assemblers.


def fake(
    monkeypatch: pytest.MonkeyPatch, refuse: Callable[[str, Version], str | None]
) -> list[tuple[str, str]]:
    """An assembler that refuses what the function has words for; what it was asked."""
    asked: list[tuple[str, str]] = []

    def classify(ptxas: Any, statements: Sequence[str], ptx: Version, target: str) -> list[StatementOutcome]:
        asked.append((ptxas.version, target))
        words = [refuse(statement, ptx) for statement in statements]
        return [
            StatementOutcome("refused", (said,)) if said else StatementOutcome("accepted") for said in words
        ]

    monkeypatch.setattr(toolchains, "locate", lambda release: SimpleNamespace(version=release))
    monkeypatch.setattr(classification, "classify", classify)
    return asked


def test_verdicts_of_both_assemblers(diff: Diff, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake(monkeypatch, lambda _, ptx: "requires PTX ISA .version 8.4" if ptx < Version(8, 4) else None)
    document = diff("8.3", "8.4", "wgmma.mma_async.sp", "--evidence")
    assert sorted(asked) == [("12.3.107", "sm_90a"), ("12.4.131", "sm_90a")]
    old, new = document["changes"][0]["verdicts"]
    assert (old["ptxas"], old["refused"], old["accepted"], old["words"]) == (
        "12.3.107",
        144,
        0,
        ["requires PTX ISA .version 8.4"],
    )
    assert (new["ptxas"], new["refused"], new["accepted"], new["against"]) == ("12.4.131", 0, 144, [])
    _, out, _ = run("diff", "8.3", "8.4", "wgmma.mma_async.sp", "--evidence")
    assert "8.3 by ptxas 12.3.107, sm_90a: refuses 144 of 144 (requires PTX ISA .version 8.4)" in out
    assert "AGAINST" not in out


def test_an_assembler_that_is_wrong_about_one_statement_is_named(
    run: Run, diff: Diff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(statement: str, ptx: Version) -> str | None:
        return None if ptx >= Version(8, 4) or "m64n48k64.s32.u8.s8 " in statement else "no"

    fake(monkeypatch, refuse)
    old, _ = diff("8.3", "8.4", "wgmma.mma_async.sp", "--evidence")["changes"][0]["verdicts"]
    assert (old["accepted"], old["refused"], len(old["against"])) == (2, 142, 2)
    assert all("m64n48k64.s32.u8.s8 " in statement for statement in old["against"])
    _, out, _ = run("diff", "8.3", "8.4", "wgmma.mma_async.sp", "--evidence")
    assert (
        "AGAINST the specification 2 times, first wgmma.mma_async.sp.sync.aligned.m64n48k64.s32.u8.s8 " in out
    )


def test_both_spellings_of_a_requirement_are_asked(diff: Diff, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(statement: str, ptx: Version) -> str | None:
        return "no" if (".aligned" in statement) != (ptx >= Version(6, 3)) else None

    fake(monkeypatch, refuse)
    changes = diff("6.2", "6.3", "wmma.mma", "--evidence")["changes"]
    (change,) = (c for c in changes if c["kind"] == "required")
    verdicts = [(v["spelling"], v["ptx"], v["accepted"], v["refused"]) for v in change["verdicts"]]
    assert verdicts == [
        ("before", "6.2", 96, 0),
        ("before", "6.3", 0, 96),
        ("mnemonics", "6.2", 0, 96),
        ("mnemonics", "6.3", 96, 0),
    ]
    assert not any(verdict["against"] for verdict in change["verdicts"])


def test_a_target_that_a_version_has_not_is_not_asked_about(
    diff: Diff, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = fake(monkeypatch, lambda statement, ptx: None)
    verdicts = diff("9.3", "9.4", "movmatrix", "--evidence")["changes"][0]["verdicts"]
    assert [(v["ptx"], v["target"], v["target_exists"]) for v in verdicts] == [
        (ptx, target, ptx == "9.4") for target in ("sm_107", "sm_107f", "sm_107a") for ptx in ("9.3", "9.4")
    ]
    assert sorted(asked) == [("13.4.92", target) for target in ("sm_107", "sm_107a", "sm_107f")]


@pytest.mark.parametrize(
    ("question", "releases"),
    [
        (("8.7", "8.8", "ldmatrix"), ("12.8", "12.9")),
        (("8.3", "8.4"), ("12.3", "12.4")),
        (("6.4", "6.5"), ("11.7",)),
        (("6.2", "6.3"), ("11.7",)),
    ],
)
def test_the_assemblers_agree(question: Sequence[str], releases: Sequence[str], diff: Diff) -> None:
    for release in releases:
        try:
            toolchains.locate(release)
        except Question as missing:
            pytest.skip(f"NOT TESTED: {missing}")
    verdicts = [v for change in diff(*question, "--evidence")["changes"] for v in change["verdicts"]]
    assert verdicts and not any(verdict["against"] or verdict["died"] for verdict in verdicts)


# The meaning of a change.


@pytest.fixture
def spoil(files: Path, tmp_path: Path) -> Callable[..., None]:
    """Replace text in one of the files of the copy; `original` beside it stays as it is."""
    shutil.copytree(files, tmp_path / "original")

    def call(name: str, *changes: tuple[str, str]) -> None:
        path = files / name
        text = path.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after, 1)
        path.write_text(text)

    return call


Spoil = Callable[..., None]


@pytest.fixture
def meaning(files: Path, tmp_path: Path, diff: Diff) -> Callable[[], dict[str, Any]]:
    return lambda: diff("--spec", str(tmp_path / "original"), str(files))


ENTRIES = ("variants", "layouts", "contracts", "others", "rewritten")


def test_comments_and_spaces_mean_nothing(
    spoil: Spoil, meaning: Diff, run: Run, files: Path, tmp_path: Path
) -> None:
    spoil("spec/layouts/wgmma.yaml", ("layouts:", "# a remark\n\nlayouts:"))
    found = meaning()
    assert not found["differs"] and not any(found[entry] for entry in ENTRIES)
    code, out, _ = run("diff", "--spec", str(tmp_path / "original"), str(files), "--exit-code")
    assert code == 0 and "no difference" in out


def test_a_layout_rewritten_equal(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/layouts/wgmma.yaml",
        ('row: "16*warp + groupID + 8*(i // 2 % 2)"', 'row: "t // 32 * 16 + (groupID | (i & 2) << 2)"'),
    )
    found = meaning()
    (layout,) = found["layouts"]
    assert (layout["layout"], layout["what"], layout["verdict"]) == ("wgmma.d", "rewritten", "same")
    assert "z3 proves it" in layout["words"] and "wgmma.mma_async.sp/integer" in layout["rows"]
    assert layout["first_difference"] is None
    assert not found["differs"] and not any(found[entry] for entry in ENTRIES if entry != "layouts")


def test_a_layout_rewritten_unequal(
    spoil: Spoil, meaning: Diff, run: Run, files: Path, tmp_path: Path
) -> None:
    spoil(
        "spec/layouts/mma.yaml",
        (
            'map: {row: "groupID + 8*(i // 2)", col: "2*threadID_in_group + i % 2"}',
            'map: {row: "groupID + 8*(i % 2)", col: "2*threadID_in_group + i // 2"}',
        ),
    )
    found = meaning()
    (layout,) = found["layouts"]
    assert (layout["layout"], layout["verdict"]) == ("mma.m16n8.c", "different")
    # T0 holds (0, 0) and (0, 1) first: 9.7.14.5.8
    assert layout["first_difference"] == {
        "parameters": {},
        "point": {"t": 0, "i": 1},
        "before": {"row": 0, "col": 1},
        "after": {"row": 8, "col": 0},
    }
    assert found["differs"]
    code, out, _ = run("diff", "--spec", str(tmp_path / "original"), str(files), "--exit-code")
    assert code == 1
    assert "mma.m16n8.c: NOT the same function\n    thread 0 element 1 holds (8, 0); it held (0, 1)" in out


def test_a_layout_that_differs_for_one_n_only(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/layouts/wgmma.yaml",
        ('row: "16*warp + groupID', 'row: "16*where(n == 40, 3 - warp, warp) + groupID'),
    )
    (layout,) = meaning()["layouts"]
    assert layout["words"] == "thread 0 element 0 (n = 40) holds (48, 0); it held (0, 0)"


def test_a_gate_that_moved(spoil: Spoil, meaning: Diff) -> None:
    spoil("spec/instructions/wgmma.mma_async.sp.yaml", ('gate: {since: "8.4"', 'gate: {since: "8.3"'))
    found = meaning()
    (change,) = found["variants"]
    assert (change["what"], change["rows"], len(change["mnemonics"])) == ("gate", ["integer"], 72)
    when = "atype == s8 and btype == u8 or atype == u8 and btype == s8"
    assert change["details"] == [
        "since 8.4 → 8.3",
        f"gate mixed-signedness (when {when}): since 8.4, sm_90a → since 8.3, sm_90a",
    ]
    assert not any(found[entry] for entry in ENTRIES if entry != "variants")


def test_a_target_that_a_gate_lost(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/instructions/ldmatrix.yaml",
        (
            'since: "9.4", deprecated: null, removed: null, targets: [sm_90a, ',
            'since: "9.4", deprecated: null, removed: null, targets: [',
        ),
    )
    (change,) = meaning()["variants"]
    assert change["rows"] == ["m8n16.s4"] and change["details"][0] == "loses sm_90a"


def test_a_variant_that_was_dropped(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/instructions/wgmma.mma_async.sp.yaml",
        ("n: [8, 16, 24, 32,", "n: [8, 16, 32,"),
        ("count: 144", "count: 136"),
    )
    (change,) = meaning()["variants"]
    assert (change["what"], change["instruction"]) == ("removed", "wgmma.mma_async.sp")
    assert set(change["mnemonics"]) == {
        f"wgmma.mma_async.sp.sync.aligned.m64n24k64{clamp}.s32.{a}.{b}"
        for clamp in ("", ".satfinite")
        for a, b in itertools.product(("s8", "u8"), repeat=2)
    }


def test_an_operand_with_other_bounds(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/instructions/wgmma.mma_async.sp.yaml",
        ("what: -1 negates the elements of A, accepts: [immediate], values: [-1, 1]", "what: -1 negates the elements of A, accepts: [immediate], values: [0, 1]"),
        ('valid: "value == 0 or k != 64"', 'valid: "value == 0 or k == 32"'),
    )  # fmt: skip
    details = [(detail, row) for c in meaning()["variants"] for detail in c["details"] for row in c["rows"]]
    assert sorted(details) == [
        *(("imm-scale-a: values -1, 1 → 0, 1", row) for row in ("bf16", "f16", "fp8", "tf32")),
        ("sp-sel: values 0, 1 → 0", "tf32"),
    ]


def test_operands_written_otherwise(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/instructions/wgmma.mma_async.sp.yaml",
        ('"m * n * dtype_bits // (128 * 32)"', '"n * m * dtype_bits // 4096"'),
    )
    found = meaning()
    assert not found["differs"] and not found["variants"]
    assert [entry["path"] for entry in found["rewritten"]] == [
        "instructions/wgmma.mma_async.sp/operands/d/registers"
    ]


def test_a_row_with_another_layout(spoil: Spoil, meaning: Diff) -> None:
    spoil(
        "spec/instructions/wgmma.mma_async.sp.yaml",
        ("layouts: {A: wgmma.sp.a.16b,", "layouts: {A: wgmma.sp.a.8b,"),
    )
    (change,) = (c for c in meaning()["variants"] if c["what"] == "layout")
    assert change["rows"] == ["f16"] and len(change["mnemonics"]) == 64
    (detail,) = change["details"]
    assert detail.startswith("A: wgmma.sp.a.16b → wgmma.sp.a.8b (not the same function: ")


def test_a_contract_reworded(spoil: Spoil, meaning: Diff) -> None:
    spoil("spec/contracts.yaml", ("the operation is asynchronous; ", "the operation runs asynchronously; "))
    (wording,) = meaning()["contracts"]
    assert wording["path"] == "contracts/exec.async/says"
    assert wording["before"].startswith("the operation is asynchronous; commit_group")
    assert wording["after"].startswith("the operation runs asynchronously; commit_group")


def test_sparsity_written_otherwise(spoil: Spoil, meaning: Diff, files: Path) -> None:
    spoil("spec/sparsity.yaml", ('position: "', 'position: "0 + '))
    (layout,) = meaning()["layouts"]
    assert layout["layout"].startswith("sparsity ") and layout["verdict"] == "same"


# Two layouts.


def changed(layout: LayoutMap, **formulas: str) -> LayoutMap:
    """A layout with other formulas: `map_row`, `domain_i`, `codomain_row`, …"""
    record = layout.layout
    for name, text in formulas.items():
        part, key = name.split("_")
        known = getattr(record, part)
        formula = Formula(text, parse(text), record.place)
        changes: dict[str, Any] = {part: {**known, key: formula}}
        record = replace(record, **changes)
    return LayoutMap(record)


def test_domain_and_codomain_count(specification: Specification) -> None:
    layout = specification.layouts["mma.m16n8.c"]
    assert compare(layout, layout).verdict == "same"
    grown = compare(layout, changed(layout, domain_i="5"))
    assert (grown.verdict, grown.words) == ("different", "thread 0 element 4 holds (16, 0); it took no part")
    shrunk = compare(changed(layout, domain_i="5"), layout)
    assert shrunk.words == "thread 0 element 4 takes no part; it held (16, 0)"
    wider = compare(layout, changed(layout, codomain_col="9"))
    assert (wider.verdict, wider.words, wider.difference) == (
        "different",
        "it covers 16x9; it covered 16x8",
        None,
    )
    huge = compare(layout, changed(layout, domain_i="1 << 24"))
    assert huge.verdict == "different" and huge.words.startswith("too large to be enumerated; z3: i = ")


def test_parameters_count(specification: Specification) -> None:
    layout = specification.layouts["wgmma.d"]
    scalars = layout.layout.params["n"]

    def over(*values: int) -> LayoutMap:
        return LayoutMap(replace(layout.layout, params={"n": replace(scalars, values=values)}))

    assert compare(over(8, 16), over(8, 16, 24)).words == "n = 24 is new"
    assert compare(over(8, 16), over(8)).words == "n = 16 is gone"
    assert compare(over(8), over(16)).verdict == "unlike"
    assert compare(layout, specification.layouts["mma.m16n8.c"]).verdict == "unlike"


def test_what_z3_does_not_know_is_enumerated(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ptxmma.formal.layout_equality as layout_equality
    from ptxmma.formal.smt.solvers import SolverAnswer

    monkeypatch.setattr(layout_equality, "ask", lambda *_: SolverAnswer("unknown", {}, "time"))
    layout = specification.layouts["mma.m16n8.c"]
    same = compare(layout, changed(layout, map_row="t // 4 + 8*(i // 2)"))
    assert (same.verdict, same.words) == ("same", "every point was compared, for every parameter")
    assert compare(layout, changed(layout, map_row="t // 4 + 8*(i % 2)")).verdict == "different"


# Checkouts and revisions.


def git(folder: Path, *arguments: str) -> None:
    who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_revisions(spoil: Spoil, files: Path, diff: Diff, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git(files, "init")
    git(files, "add", ".")
    git(files, "commit", "-m", "one")
    spoil("spec/instructions/wgmma.mma_async.sp.yaml", ('gate: {since: "8.4"', 'gate: {since: "8.3"'))
    git(files, "commit", "-am", "two")
    path = files / "spec/layouts/wgmma.yaml"
    path.write_text(path.read_text().replace("params:", "parms:", 1))
    line = 1 + path.read_text().partition("parms:")[0].count("\n")
    git(files, "commit", "-am", "three")
    monkeypatch.chdir(files / "spec")
    (change,) = diff("--spec", "HEAD~2", "HEAD~1")["variants"]
    assert change["what"] == "gate"
    code, out, err = run("diff", "--spec", "HEAD~1", "main")
    assert (code, out) == (2, "") and f"main:spec/layouts/wgmma.yaml:{line}:5: unknown key 'parms'" in err
    for revision in ("nowhere", "", "-x", "--", "HEAD^{tree}", "HEAD~9", "a b", ":/", "\0", "ä"):
        code, out, err = run("diff", "--spec", "--", revision, "HEAD~1")
        assert (code, out) == (2, "") and "is neither a folder with a specs.yaml nor a revision of" in err


def test_a_broken_checkout_is_named_with_the_place(files: Path, run: Run) -> None:
    path = files / "spec/layouts/wgmma.yaml"
    path.write_text(path.read_text().replace("8*(i // 2 % 2)", "8*(i // 2 % )", 1))
    line = 1 + path.read_text().partition("2 % )")[0].count("\n")
    code, out, err = run("diff", "--spec", str(ROOT), str(files))
    assert (code, out) == (2, "") and f"{path}:{line}:" in err and "Traceback" not in err
    path.unlink()
    code, _, err = run("diff", "--spec", str(ROOT), str(files))
    assert code == 2 and "spec/layouts/wgmma.yaml cannot be read" in err


def test_no_git(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run("diff", "--spec", "HEAD", "HEAD")
    assert code == 2 and "git cannot be run" in err


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        ("specs.yaml", "  f64:  {", "  f65:  {", "is not an element type"),
        ("spec/instructions/wmma.mma.yaml", "multiplicand: bf16", "multiplicand: bf17", "the value bf17 of multiplicand is not an element type"),
        ("spec/instructions/wmma.mma.yaml", "holds: multiplicand", "holds: multiplicant", "which is not a field"),
        ("spec/instructions/wgmma.mma_async.sp.yaml", "values: [-1, 1]", "values: [-1, one]", "the value 'one' of the operand imm-scale-a is not an integer"),
        ("spec/layouts/wgmma.yaml", "range(8, 257, 8)", "range(8, 99999999999999999999999, 8)", "is too long"),
    ],
)  # fmt: skip
def test_faults_with_their_place(
    files: Path, run: Run, name: str, before: str, after: str, words: str
) -> None:
    path = files / name
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    code, _, err = run("diff", "--spec", str(files), str(ROOT))
    assert code == 2 and words in err and re.search(rf"{re.escape(str(files))}/[\w/.]+:\d+:\d+: ", err)
