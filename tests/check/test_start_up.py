"""A short command imports what it needs and nothing else; the time that this saves is measured by bench/speed.py."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

from ptxmma.cli.commands import COMMANDS
from ptxmma.spec.cache import cache_folder

SLOW = {"cvc5", "difflib", "hashlib", "json", "numpy", "rich", "sympy", "tempfile", "tomllib", "yaml", "z3"}
UNWAITED = str(Path(__file__).with_name("unwaited.ptx"))
RUN = """
import sys
from ptxmma.cli.main import main
main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (("check", UNWAITED), set()),
        (("check", "--format", "json", UNWAITED), {"json"}),
        # witnesses are found by the digest of what a row claims
        (("legal", "wgmma.fence.sync.aligned;", "--ptx", "8.0", "--target", "sm_90a"), {"json", "hashlib"}),
    ],
    ids=lambda value: " ".join(Path(word).name for word in value) if isinstance(value, tuple) else "",
)
def test_a_short_command_imports_nothing_slow(
    words: tuple[str, ...], allowed: set[str], run: Callable[..., tuple[int, str, str]]
) -> None:
    run(*words)  # from now on the cache holds all that the command reads
    found = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=True)
    imported = set(found.stderr.split())
    assert "ptxmma.spec.specification" in imported
    assert not imported & (SLOW - allowed)
    commands = {name for name in imported if name.startswith("ptxmma.cli.") and name.endswith("_command")}
    assert commands == {f"ptxmma.cli.{words[0]}_command"}


ENTRY = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 128 .b8 tile[4096];
.visible .entry k(.param .u64 a)
.reqntid 128, 1, 1
{
    .reg .f32 %f<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
BODY
    ret;
}
"""
D, PRODUCT = "{%f0, %f1, %f2, %f3}", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
ORDERED = f"""
    wgmma.fence.sync.aligned;
    {PRODUCT} {D}, %rd1, %rd1, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    st.global.f32 [%rd1], %f0;"""
MMA = (
    f"    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {D}, {{%r0, %r1, %r2, %r3}}, {{%r0, %r1}}, {D};"
)
# The folders of modules that only some files need.
ANALYSES = frozenset(("registers", "paths", "memory.proxy_findings", "walks", "execution"))


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        ("    st.global.b32 [%rd1], %r0;", ""),
        (MMA, ""),
        (ORDERED, "registers"),
        (ORDERED.replace("    wgmma.wait_group.sync.aligned 0;\n", ""), "registers paths"),
        (f"    st.shared.b32 [tile], %r0;{ORDERED}", "registers memory.proxy_findings walks execution paths"),
        (
            f"    cp.async.ca.shared.global [tile], [%rd1], 4;\n    ld.shared.b32 %r0, [tile];\n{MMA}",
            "walks execution",
        ),
    ],
    ids=["nothing", "mma", "wgmma", "hazard", "shared memory", "copy"],
)
def test_a_file_imports_the_analyses_that_it_needs(body: str, needed: str, tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(ENTRY.replace("BODY", body))
    found = subprocess.run([sys.executable, "-c", RUN, "check", str(file)], capture_output=True, text=True)
    imported = found.stderr.split()
    assert "ptxmma.check.check_file" in imported, found.stderr
    assert {one for one in ANALYSES if f"ptxmma.check.{one}" in imported} == set(needed.split())
    assert ("ptxmma.formal.ordering.programs" in imported) == ("paths" in needed)


HELP = """
import sys
from ptxmma.cli.main import main
before = set(sys.modules)
main(sys.argv[1:])
print(*set(sys.modules) - before, file=sys.stderr)
"""


def test_the_help_of_all_imports_no_command() -> None:
    for words in (["--help"], ["help"], ["lisst"], []):
        found = subprocess.run([sys.executable, "-c", HELP, *words], capture_output=True, text=True)
        imported = found.stderr.split("\n")[-2].split()
        assert [name for name in imported if "ptxmma" in name] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_imports_nothing_slow(name: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", RUN, name, "--help"], capture_output=True, text=True, check=True
    )
    imported = set(found.stderr.split())
    assert f"ptxmma.cli.{name}_command" in imported
    assert not imported & (SLOW - {"difflib", "hashlib", "json", "tempfile"})
    # what the answers need: 60 to 250 ms
    answers = (
        "check.check_file",
        "formal.prove",
        "gen.suite.files",
        "ledger.assembler_record",
        "ledger.silicon_record",
    )
    assert not imported & {f"ptxmma.{module}" for module in answers}


def test_the_cache_lies_where_platformdirs_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert str(cache_folder()) == platformdirs.user_cache_dir("ptxmma")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert str(cache_folder()) == platformdirs.user_cache_dir("ptxmma") == str(tmp_path / "ptxmma")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert str(cache_folder()) == platformdirs.user_cache_dir("ptxmma")
