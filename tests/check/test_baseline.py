"""A baseline accepts findings by the path of their file and by content, and says what is stale."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.spec.loading import ROOT

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
FAULTY = (ROOT / "tests" / "check" / "unwaited.ptx").read_text(encoding="utf-8")
USE = "st.global.f32 [%rd3], %f0;"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with x/k.ptx and y/k.ptx, both faulty."""
    for name in ("x", "y", "ci"):
        (tmp_path / name).mkdir()
    for name in ("x", "y"):
        (tmp_path / name / "k.ptx").write_text(FAULTY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fingerprint(run: Run, *words: str) -> str:
    out = run("check", "--format", "sarif", *words)[1]
    return str(json.loads(out)["runs"][0]["results"][0]["partialFingerprints"]["ptxmma/v2"])


def test_files_of_one_name_stay_apart(run: Run, place: Path) -> None:
    assert run("check", "x", "--write-baseline", "b.json")[0] == 0
    assert run("check", "x", "--baseline", "b.json")[0] == 0
    code, out, _ = run("check", "x", "y", "--baseline", "b.json")
    assert code == 1 and out.startswith("y/k.ptx:17:5: error") and "1 suppressed" in out
    assert fingerprint(run, "x") != fingerprint(run, "y")


def test_paths_count_from_the_baseline(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("check", "x/k.ptx", "--write-baseline", "ci/b.json")[0] == 0
    assert list(json.loads((place / "ci" / "b.json").read_text())["files"]) == ["../x/k.ptx"]
    assert run("check", str(place / "x" / "k.ptx"), "--baseline", "ci/b.json")[0] == 0
    before = fingerprint(run, "x", "--baseline", "ci/b.json")
    monkeypatch.chdir(place / "x")
    assert run("check", "k.ptx", "--baseline", "../ci/b.json")[0] == 0
    assert fingerprint(run, "k.ptx", "--baseline", "../ci/b.json") == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// The accumulator", "\n\n// More text\n// The accumulator"),
        (USE, f"// a comment\n    {USE}"),
        (USE, USE.replace(", ", ",   ") + " // why not"),
    ],
)
def test_an_entry_survives_lines_and_comments(run: Run, place: Path, old: str, new: str) -> None:
    run("check", "x", "--write-baseline", "b.json")
    before = fingerprint(run, "x")
    assert old in FAULTY
    (place / "x" / "k.ptx").write_text(FAULTY.replace(old, new, 1))
    code, out, _ = run("check", "x", "--baseline", "b.json")
    assert code == 0 and "stale" not in out
    assert fingerprint(run, "x") == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (USE, "st.global.f32 [%rd3], %f1;"),
        ("unwaited(", "other("),
        (USE, f"{USE}\n    bra NEXT;\nNEXT:\n    {USE}"),
    ],
)
def test_another_finding_is_not_accepted(run: Run, place: Path, old: str, new: str) -> None:
    run("check", "x", "--write-baseline", "b.json")
    (place / "x" / "k.ptx").write_text(FAULTY.replace(old, new, 1))
    assert run("check", "x", "--baseline", "b.json")[0] == 1


def test_stale_entries_are_named(run: Run, place: Path) -> None:
    run("check", "x", "y", "--write-baseline", "b.json")
    (place / "x" / "k.ptx").write_text(FAULTY.replace(USE, ""))
    code, out, _ = run("check", "x", "--baseline", "b.json")  # y was not asked about
    stale = "x/k.ptx: not found any more: accumulator-in-flight in unwaited at `st.global.f32 [%rd3], %f0`"
    assert code == 0 and [line for line in out.splitlines() if "stale" in line] == [f"b.json: stale: {stale}"]
    (place / "y" / "k.ptx").unlink()
    found = json.loads(run("check", "x", "--baseline", "b.json", "--format", "json")[1])
    valid("check", found)
    assert found["baseline"]["file"] == "b.json"
    assert [(one["file"], one["rule"]) for one in found["baseline"]["stale"]] == [
        ("x/k.ptx", "accumulator-in-flight"),
        ("y/k.ptx", None),
    ]
    assert (
        f"::notice file=b.json,line=1,col=1,title=ptxmma stale baseline::{stale.replace('%', '%25')}"
        in (run("check", "x", "--baseline", "b.json", "--format", "github")[1])
    )
    sarif = json.loads(run("check", "x", "--baseline", "b.json", "--format", "sarif")[1])
    notes = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "note"]


def test_a_file_that_cannot_be_read_makes_nothing_stale(run: Run, place: Path) -> None:
    run("check", "x", "--write-baseline", "b.json")
    (place / "x" / "k.ptx").write_text(FAULTY[:-3])
    code, out, _ = run("check", "x", "--baseline", "b.json")
    assert code == 2 and "stale" not in out


def test_an_ignored_rule_is_not_stale(run: Run, place: Path) -> None:
    run("check", "x", "--write-baseline", "b.json")
    code, out, _ = run("check", "x", "--baseline", "b.json", "--ignore", "accumulator-in-flight")
    assert code == 0 and "stale" not in out


def test_a_new_baseline_keeps_what_the_old_accepts(run: Run, place: Path) -> None:
    run("check", "x", "--write-baseline", "b.json")
    assert run("check", "x", "y", "--baseline", "b.json", "--write-baseline", "b.json")[0] == 0
    assert run("check", "x", "y", "--baseline", "b.json")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"ptxmma-baseline": 1, "files": {}}', "a baseline of version 1"),
        ('{"ptxmma-baseline": 2, "files": []}', "not a baseline file"),
        ('{"ptxmma-baseline": 2, "files": {"k.ptx": [{}]}}', "not a baseline file"),
        ('{"ptxmma-baseline": 2, "files": {"k.ptx": {}}}', "not a baseline file"),
        (
            '{"ptxmma-baseline": 2, "files": {"k.ptx": [{"fingerprint": "1", "rule": "x", "tier": "error", '
            '"function": "f", "statement": "s", "count": -1}]}}',
            "not a baseline file",
        ),
        ('{"ptxmma-baseline": 2}', "not a baseline file"),
        ("[]", "not a baseline file"),
        ("{", "not a baseline file; `ptxmma check --write-baseline FILE` writes one"),
    ],
)
def test_what_is_not_a_baseline(run: Run, place: Path, text: str, message: str) -> None:
    (place / "b.json").write_text(text)
    code, out, err = run("check", "x", "--baseline", "b.json")
    assert (code, out) == (2, "") and message in err and "b.json" in err
