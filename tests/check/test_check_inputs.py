"""What `ptxmma check` takes (files, folders, patterns, standard input), and what it says of what it cannot read."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from ptxmma.check.rules import rules
from ptxmma.spec.loading import ROOT

from ..answers import valid

Run = Callable[..., tuple[int, str, str]]
FAULTY = (ROOT / "tests" / "check" / "unwaited.ptx").read_text(encoding="utf-8")
RIGHT = FAULTY.replace("    st.global.f32 [%rd3], %f0;\n", "")
# By name: the content of a file that cannot be read, the line of the fault, and a part of what is said.
UNREADABLE = {
    "open.ptx": (b".version 8.0\n/* open", 2, "the comment is not closed"),
    "string.ptx": (FAULTY.encode().replace(b"64\n", b'64\n.file 1 "x\n', 1), 5, "the string is not closed"),
    "binary.ptx": (b"\x7fELF\x02\x01\x01\x00", 1, "NUL byte"),
    "latin1.ptx": (FAULTY.encode().replace(b"unwaited(", b"unwait\xe9d("), 6, "the byte 0xe9"),
    "empty.ptx": (b"", 1, "it has no .version"),
    "c.ptx": (b"int main() { return 0; }\n", 1, "this is not PTX"),
    "cut.ptx": (FAULTY.encode()[:-3], 8, "is not closed"),
    "version.ptx": (FAULTY.encode().replace(b"8.0", b"99.0"), 2, "PTX ISA 99.0 is not known"),
    "target.ptx": (FAULTY.encode().replace(b"sm_90a", b"sm_90b"), 3, "the target 'sm_90b' is not known"),
    "syntax.ptx": (FAULTY.encode().replace(b"ret;", b"mov.f32 = 3 {;"), 19, "is no PTX statement"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with x/k.ptx and y/k.ptx, both faulty, and right.ptx."""
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.ptx").write_text(FAULTY)
    (tmp_path / "right.ptx").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(out: str) -> list[str]:
    return [file["file"] for file in json.loads(out)["files"]]


@pytest.mark.parametrize("name", [*UNREADABLE, "absent.ptx", "broken.ptx"])
def test_what_cannot_be_read_is_said_in_every_format(run: Run, place: Path, name: str) -> None:
    content, line, what = UNREADABLE.get(name, (b"", 1, "No such file or directory"))
    if name in UNREADABLE:
        (place / name).write_bytes(content)
    elif name == "broken.ptx":
        (place / name).symlink_to("nowhere")
    asked = (name, "right.ptx")
    code, _, err = run("check", *asked)
    assert code == 2 and err.startswith(f"ptxmma: {name}") and what in err

    code, out, _ = run("check", "--format", "json", *asked)
    found = json.loads(out)
    valid("check", found)
    wrong, right = found["files"]
    assert code == 2 and found["counts"]["unreadable"] == 1
    assert wrong["unreadable"][0]["line"] == line and what in wrong["unreadable"][0]["message"]
    assert wrong["error"] == (None if name == "syntax.ptx" else wrong["unreadable"][0]["message"])
    assert right["error"] is None and right["unreadable"] == [] and right["functions"] == 1

    code, out, _ = run("check", "--format", "sarif", *asked)
    Sarif.model_validate_json(out)
    (invocation,) = json.loads(out)["runs"][0]["invocations"]
    assert code == 2 and invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    where = note["locations"][0]["physicalLocation"]
    assert note["level"] == "error" and what in note["message"]["text"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == (name, line)

    code, out, _ = run("check", "--format", "github", *asked)
    assert code == 2 and out.startswith(f"::error file={name},line={line},col=") and what in out


def test_a_folder_means_every_ptx_file_below(run: Run, place: Path) -> None:
    (place / "x" / "deep" / ".hidden").mkdir(parents=True)
    (place / "x" / "deep" / ".hidden" / "a.ptx").write_text(RIGHT)
    (place / "x" / "notes.txt").write_text("no PTX")
    code, out, _ = run("check", "--format", "json", "x", "x/k.ptx", "./x/")
    assert code == 1 and files(out) == ["x/k.ptx", "x/deep/.hidden/a.ptx"]
    assert files(run("check", "--format", "json", ".")[1])[0] == "right.ptx"


def test_a_pattern(run: Run, place: Path) -> None:
    assert files(run("check", "--format", "json", "*/k.ptx")[1]) == ["x/k.ptx", "y/k.ptx"]
    assert files(run("check", "--format", "json", "**/*.ptx")[1]) == ["right.ptx", "x/k.ptx", "y/k.ptx"]
    (place / "a[1].ptx").write_text(RIGHT)
    assert files(run("check", "--format", "json", "a[1].ptx")[1]) == ["a[1].ptx"]  # a file of that very name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "nothing: no *.ptx file lies in this folder or below it"),
        (("*/z.ptx",), "*/z.ptx: no file matches this pattern"),
        (("x", "--exclude", "k.ptx"), "x: every *.ptx file here is excluded"),
        (("",), "an empty word names no file"),
        ((), "no file is named"),
        (("x", "--stdin-name", "s"), "write - among the files"),
        (("right.ptx", "--target", "sm_9"), "the target 'sm_9' is not known"),
    ],
)
def test_what_names_no_file_is_answered(run: Run, place: Path, words: tuple[str, ...], message: str) -> None:
    (place / "nothing").mkdir()
    for form in ("text", "json", "sarif", "github"):
        code, _, err = run("check", "--format", form, *words)
        assert code == 2 and message in err


def test_the_other_files_are_still_checked(run: Run, place: Path) -> None:
    code, out, _ = run("check", "--format", "json", "absent.ptx", "x", "nothing")
    assert code == 2 and files(out) == ["absent.ptx", "x/k.ptx", "nothing"]
    assert json.loads(out)["counts"]["error"] == 1


def test_options_may_stand_between_files(run: Run, place: Path) -> None:
    code, out, _ = run("check", "x/k.ptx", "--format", "json", "right.ptx", "--strict", "y/k.ptx")
    assert code == 1 and files(out) == ["x/k.ptx", "right.ptx", "y/k.ptx"]


@pytest.mark.parametrize(("words", "name"), [((), "<stdin>"), (("--stdin-name", "made.ptx"), "made.ptx")])
def test_standard_input(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str
) -> None:
    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(FAULTY.encode())
    code, out, _ = run("check", "-", *words)
    assert code == 1 and out.startswith(f"{name}:17:5: error accumulator-in-flight")
    given(b"\xff\xfe\x00")
    code, _, err = run("check", *words, "-", "right.ptx")
    assert code == 2 and err.startswith(f"ptxmma: {name}: this is not PTX")
    given(FAULTY.encode())
    Sarif.model_validate_json(run("check", "-", *words, "--format", "sarif")[1])


def test_a_closed_standard_input_is_a_fault_and_the_rest_is_checked(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(9, "it is closed")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Closed()))
    code, out, err = run("check", "-", "x", "--format", "json")
    assert code == 2 and files(out) == ["<stdin>", "x/k.ptx"]
    assert "<stdin>: standard input cannot be read: it is closed" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_without_permission(run: Run, place: Path) -> None:
    (place / "x" / "k.ptx").chmod(0)
    (place / "y").chmod(0)
    try:
        code, out, err = run("check", ".", "--format", "json")
    finally:
        (place / "y").chmod(0o700)
    assert code == 2 and files(out) == ["right.ptx", "x/k.ptx", "./y"]
    assert err.count("Permission denied") == 2


def test_exclude_concerns_what_is_found_not_what_is_named(run: Run, place: Path) -> None:
    assert files(run("check", "--format", "json", ".", "--exclude", "y")[1]) == ["right.ptx", "x/k.ptx"]
    assert files(run("check", "--format", "json", ".", "--exclude", "x/k.ptx,right.*")[1]) == ["y/k.ptx"]
    assert files(run("check", "--format", "json", "y/k.ptx", "--exclude", "y")[1]) == ["y/k.ptx"]


def test_select_and_ignore(run: Run, place: Path) -> None:
    code, out, _ = run("check", "x", "--ignore", "accumulator-in-flight")
    assert code == 0 and "accumulator-in-flight" not in out and "1 suppressed" in out
    assert run("check", "x", "--select", "legality,first-fence")[0] == 0
    assert run("check", "x", "--select", "legality", "--select", "accumulator-in-flight")[0] == 1
    found = json.loads(run("check", "x", "--select", "legality", "--format", "json")[1])["files"][0]
    assert found["findings"] == [] and {one["kind"] for one in found["suppressed"]} == {"selection"}
    sarif = json.loads(run("check", "x", "--select", "legality", "--format", "sarif")[1])
    assert sarif["runs"][0]["results"] == []


def test_a_file_without_a_function_is_said_aloud(run: Run, place: Path) -> None:
    (place / "none.ptx").write_text(".version 8.0\n.target sm_90a\n.address_size 64\n")
    code, out, _ = run("check", "none.ptx")
    assert code == 0 and "none.ptx:1:1: not judged: the file defines no function" in out
    assert "::notice file=none.ptx" in run("check", "none.ptx", "--format", "github")[1]
    sarif = json.loads(run("check", "none.ptx", "--format", "sarif")[1])
    (note,) = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "note" and "no function" in note["message"]["text"]


def test_sarif_lists_every_rule(run: Run, place: Path) -> None:
    out = run("check", "--format", "sarif", "x", "y")[1]
    Sarif.model_validate_json(out)
    sarif = json.loads(out)["runs"][0]
    listed = sarif["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in listed] == list(rules())
    for rule in listed:
        assert rule["helpUri"] == rules()[rule["id"]].address
        assert (
            rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["markdown"]
        )
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in sarif["results"]:
        assert listed[result["ruleIndex"]]["id"] == result["ruleId"]
    prints = [result["partialFingerprints"]["ptxmma/v2"] for result in sarif["results"]]
    assert len(prints) == len(set(prints)) == 2


def test_sarif_names_files_as_code_scanning_wants(run: Run, place: Path) -> None:
    def uri(name: str) -> str:
        result = json.loads(run("check", "--format", "sarif", name)[1])["runs"][0]["results"][0]
        return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])

    assert uri("./x/k.ptx") == uri(str(place / "x" / "k.ptx")) == "x/k.ptx"
    os.chdir(place / "x")
    assert uri(str(place / "y" / "k.ptx")) == f"file://{place}/y/k.ptx"
