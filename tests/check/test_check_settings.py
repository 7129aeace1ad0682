"""The table [tool.ptxmma.check] of a pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.spec.loading import ROOT

Run = Callable[..., tuple[int, str, str]]
FAULTY = (ROOT / "tests" / "check" / "unwaited.ptx").read_text(encoding="utf-8")
STRICT = FAULTY.replace("    st.global.f32 [%rd3], %f0;\n", "").replace(
    "    wgmma.mma_async", "    mov.f32 %f0, 0f00000000;\n    wgmma.mma_async"
)
GUIDE = ROOT / "docs" / "guides" / "ci.md"
TABLE = "[tool.ptxmma.check]\n"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes pyproject.toml above the current folder, in which k.ptx is faulty."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.ptx").write_text(FAULTY)
    (tmp_path / "src" / "strict.ptx").write_text(STRICT)
    monkeypatch.chdir(tmp_path / "src")

    def write(text: str) -> None:
        (tmp_path / "pyproject.toml").write_text(text)

    return write


def test_it_is_found_upward(run: Run, table: Callable[[str], None]) -> None:
    table("[project]\nname = 'x'\n" + TABLE + "ignore = ['accumulator-in-flight']\n")
    assert run("check", "k.ptx")[0] == 0
    Path("pyproject.toml").write_text("[project]\nname = 'nearer, without the table'\n")
    assert run("check", "k.ptx")[0] == 0
    Path("pyproject.toml").write_text(TABLE)  # nearer, and it settles nothing
    assert run("check", "k.ptx")[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[ tool . 'ptxmma' . \"check\" ]\nignore = RULES",
        "[tool.ptxmma]\ncheck = {ignore = RULES}",
        "[tool.ptxmma]\ncheck.ignore = RULES",
        "[tool]\nptxmma.check.ignore = RULES",
        "tool.ptxmma.check.ignore = RULES",
        "tool = {ptxmma = {check = {ignore = RULES}}}",
        '[tool]\n"ptxmma" = {check = {ignore = RULES}}',
    ],
)
def test_it_is_found_however_it_is_written(text: str, run: Run, table: Callable[[str], None]) -> None:
    table(text.replace("RULES", "['accumulator-in-flight']"))
    assert run("check", "k.ptx")[0] == 0


def test_every_key(run: Run, table: Callable[[str], None], tmp_path: Path) -> None:
    assert run("check", "k.ptx", "--write-baseline", "../known.json")[0] == 0
    for text, words, code in (
        ("baseline = 'known.json'", ("k.ptx",), 0),
        ("select = ['legality']", ("k.ptx",), 0),
        ("exclude = ['src/k.*']", (".",), 0),
        ("strict = true", ("strict.ptx",), 1),
        ("target = 'sm_80'", ("strict.ptx",), 1),
        ("", ("strict.ptx",), 0),
    ):
        table(TABLE + text)
        assert run("check", *words)[0] == code, text
    table(TABLE + "info = true")
    assert ": info serialised" in run("check", "k.ptx")[1]


def test_the_guides_table_is_right(run: Run, table: Callable[[str], None], tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.S | re.M)
    (tmp_path / "ci").mkdir()
    assert run("check", "k.ptx", "--write-baseline", "../ci/known.json")[0] == 0
    table(example)
    assert run("check", "k.ptx")[0] == 0
    code, out, _ = run("check", ".")
    assert code == 1 and "1 reading" in out


def test_the_tables_baseline_is_written_the_first_time(run: Run, table: Callable[[str], None]) -> None:
    """The table names a file that is not there yet, or that an older ptxmma wrote."""
    table(TABLE + "baseline = 'known.json'")
    assert run("check", "k.ptx")[0] == 2
    for before in (None, '{"ptxmma-baseline": 1}'):
        if before is not None:
            Path("../known.json").write_text(before)
        code, _, err = run("check", ".", "--write-baseline", "../known.json")
        assert (code, err) == (0, "ptxmma: ../known.json accepts 2 findings\n")
        assert run("check", "k.ptx")[0] == 0


def test_a_stale_entry_names_the_tables_baseline(
    run: Run, table: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(TABLE + "baseline = 'known.json'")
    run("check", ".", "--write-baseline", "../known.json")
    Path("k.ptx").unlink()
    monkeypatch.chdir(tmp_path)
    assert "\nknown.json: stale: src/k.ptx: the file is gone" in "\n" + run("check", ".")[1]


def test_an_option_replaces_its_key(run: Run, table: Callable[[str], None]) -> None:
    table(TABLE + "strict = true\nignore = ['accumulator-in-flight']\n")
    assert run("check", "strict.ptx", "--no-strict")[0] == 0
    assert run("check", "k.ptx", "--ignore", "first-fence")[0] == 1


def test_a_named_file(run: Run, table: Callable[[str], None]) -> None:
    Path("ptxmma.toml").write_text(TABLE + "ignore = ['accumulator-in-flight']\n")
    assert run("check", "k.ptx", "--config", "ptxmma.toml")[0] == 0
    Path("ptxmma.toml").write_text("[project]\n")
    code, _, err = run("check", "k.ptx", "--config", "ptxmma.toml")
    assert code == 2 and "ptxmma.toml has no table [tool.ptxmma.check]" in err
    code, _, err = run("check", "k.ptx", "--config", "absent.toml")
    assert code == 2 and "absent.toml" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TABLE + "strict = true\nselct = []\n",
            "../pyproject.toml:3:1: [tool.ptxmma.check] has no key 'selct'; did you mean select?",
        ),
        (TABLE + "  strict = 1\n", "../pyproject.toml:2:3: strict must be true or false, not 1"),
        (TABLE + "ignore = 'x'\n", "../pyproject.toml:2:1: ignore must be a list of texts, not 'x'"),
        (TABLE + "exclude = [1]\n", "../pyproject.toml:2:1: exclude must be a list of texts"),
        (TABLE + "baseline = ''\n", "../pyproject.toml:2:1: baseline must be a text"),
        (
            TABLE + "ignore = ['first-fence',\n  'frst-fence']\n",
            "../pyproject.toml:3:4: there is no rule 'frst-fence'; did you mean first-fence?",
        ),
        ("[tool.ptxmma.chek]\n", "has no key 'chek'; did you mean check?"),
        ("[tool.ptxmma]\ncheck = 3\n", "../pyproject.toml:2:1: tool.ptxmma.check must be a table"),
        (TABLE + "strict = yes\n", "../pyproject.toml:2:10: this is not TOML"),
        (TABLE + "baseline = 'absent.json'\n", "../absent.json: No such file or directory"),
        (TABLE + "target = 'sm_9'\n", "../pyproject.toml:2:11: the target 'sm_9' is not known"),
    ],
)
def test_a_mistake_is_answered_at_its_place(
    run: Run, table: Callable[[str], None], text: str, message: str
) -> None:
    table(text)
    code, out, err = run("check", "k.ptx")
    assert (code, out) == (2, "") and message in err
