"""Broken YAML: each fault is an error at file:line:column, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmma.spec import api
from ptxmma.spec.errors import SpecError
from ptxmma.spec.loading import load_files

SP = "spec/instructions/wgmma.mma_async.sp.yaml"
WGMMA = "spec/layouts/wgmma.yaml"

FAULTS = [
    (SP, "title:", "titel:", "unknown key 'titel'"),
    (SP, "  - id: bf16", "  - id: bf16\n    id: bf17", "stands twice"),
    (
        SP,
        ", deprecated: null, removed: null, targets: [sm_90a]}\nscope",
        ", targets: [sm_90a]}\nscope",
        "'deprecated' is missing",
    ),
    (SP, "count: 256", "count: 255", "has 256 mnemonics, not 255"),
    (SP, 'since: "8.2"', "since: 8.2", "is not quoted"),
    (SP, "scope: warpgroup", "scope: 3", "not allowed here"),
    (SP, "count: 64", "count: many", "where an integer belongs"),
    (SP, "atype == s8", "atipe == s8", "'atipe' is not bound"),
    (
        SP,
        "removed: null, targets: [sm_90a]}\nscope",
        'removed: "8.1", targets: [sm_90a]}\nscope',
        "nothing satisfies the gates",
    ),
    (SP, "targets: [sm_90a]}\nscope", "targets: [sm_91a]}\nscope", "unknown target 'sm_91a'"),
    (SP, "dtype: f32, atype: bf16, btype: bf16", "dtype: f32, atype: f16, btype: f16", "both spell"),
    (SP, "num.order", "num.odor", "no clause 'num.odor'"),
    (SP, "D: wgmma.d,", "D: wgmma.e,", "no layout 'wgmma.e'"),
    (WGMMA, "8*(i // 2 % 2)", "8*(i // 2 % n2)", "'n2' is not bound"),
    (WGMMA, "8*(i // 2 % 2)", "8*(i // (t % 2))", "can be 0"),
    (WGMMA, "8*(i // 4) + 2", "8*(i - 4) + 2", "can be -4"),
    (WGMMA, "i // 4", "i / 4", "not part of the expression language"),
    (WGMMA, "range(8, 257, 8)", "range(8, 8, 8)", "is empty"),
    (
        "spec/instructions/mma.yaml",
        "k: 16, dtype: [f16, f32], atype: f16, btype: f16",
        "k: 16, dtype: [f16, f32, f64], atype: f16, btype: f16",
        "the value f64 of dtype is in no mnemonic",
    ),
    (
        "spec/layouts/bridges.yaml",
        "left: wgmma.sp.a.8b",
        "left: mma.m8n8.a",
        "says nothing of the parameter k of mma.m8n8.a",
    ),
    ("specs.yaml", "sm_72: {", "sm_72: [", "not YAML"),
    # Ids that stand twice: records and messages are kept by them.
    (
        SP,
        "  - id: bf16",
        "  - id: f16",
        "the row f16 stands twice: first at spec/instructions/wgmma.mma_async.sp",
    ),
    (
        "spec/instructions/mma.yaml",
        "id: m16n8k32.fp8.kind",
        "id: m16n8k32.fp8.f16",
        "the gate m16n8k32.fp8.f16",
    ),
    (SP, "numerical: [", "numerical: [num.order, num.order, ", "the clause of a row num.order stands twice"),
    ("specs.yaml", '{ptx: "6.1",', '{ptx: "6.0",', "the PTX ISA version 6.0 stands twice"),
    (
        "specs.yaml",
        'earlier: ["3.1", "3.2"',
        'earlier: ["3.1", "3.1"',
        "the PTX ISA version 3.1 stands twice",
    ),
    ("specs.yaml", "version: 11.8.89", "version: 11.7.99", "the assembler 11.7.99 stands twice"),
    (
        "specs.yaml",
        "layouts:\n",
        "layouts:\n  - spec/layouts/wgmma.yaml\n",
        "the file spec/layouts/wgmma.yaml",
    ),
    ("specs.yaml", "includes: [sm_35]", "includes: [sm_35, sm_35]", "the included target sm_35 stands twice"),
    ("specs.yaml", "[f16x2], [pred]]", "[f16x2], [pred, u32]]", "the similar type u32 stands twice"),
    (
        "specs.yaml",
        "pred: [is_explicit_cluster]",
        "pred: [gridid]",
        "the special register gridid stands twice",
    ),
    (
        "specs.yaml",
        "[aggr_smem_size]",
        "[aggr_smem_size, clusterid]",
        "the late register clusterid stands twice",
    ),
    ("specs.yaml", "[pred, b16,", "[pred, pred, b16,", "the register type pred stands twice"),
    ("specs.yaml", "repeatable: [sync,", "repeatable: [sync, sync,", "the repeatable qualifier sync"),
    # A newer name begins with the version that gives it.
    ("specs.yaml", "{to: sm_110, ", "{to: sm_111, ", "there is no target 'sm_111'"),
    ("specs.yaml", 'to: sm_110, since: "9.0"', 'to: sm_110, since: "9.1"', "but that target begins with 9.0"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "message"), FAULTS)
def test_a_fault_is_named_where_it_is(files: Path, name: str, right: str, wrong: str, message: str) -> None:
    path = files / name
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(SpecError) as caught:
        load_files(files)
    shown = str(caught.value)
    assert message in shown
    where = shown.split(": ", 1)[0].rsplit(":", 2)
    assert where[0].endswith(".yaml")
    assert all(part.isdigit() for part in where[1:])


def test_the_copied_files_are_right(files: Path) -> None:
    assert len(load_files(files).instructions) == len(api.load().instructions)


def test_a_command_says_so_and_exits_with_2(
    files: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "specs.yaml").write_text("isa: 9.5\n")
    monkeypatch.setattr(api, "load_cached", lambda: load_files(files))
    api.load.cache_clear()
    try:
        code, out, err = run("list")
    finally:
        api.load.cache_clear()
    assert (code, out) == (2, "")
    assert err.startswith("ptxmma: specs.yaml:1:") and "PTXMMA_SPECIFICATION" not in err


def test_a_specification_elsewhere_is_named(
    files: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_cached", lambda: load_files(files / "nowhere"))
    monkeypatch.setenv("PTXMMA_SPECIFICATION", str(files / "nowhere"))
    api.load.cache_clear()
    try:
        code, out, err = run("list")
    finally:
        api.load.cache_clear()
    assert (code, out) == (2, "")
    assert err.endswith(f"\n  PTXMMA_SPECIFICATION names the folder {files}/nowhere\n")


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"

# In a folder with: `binary`, no text; `empty`, no byte; `folder/`; `broken.json`; `other.json`, of another kind.
MISTAKES = [
    ("list", "--target", "sm_9"),
    ("list", "--ptx", "x"),
    ("show", ""),
    ("show", "mma"),
    ("show", f"{MMA}.x"),
    ("legal", f"{MMA};", "--ptx", "99.9"),
    ("legal", "--batch", "folder"),
    ("legal", "--batch", "absent"),
    ("layout", MMA),
    ("layout", MMA, "--operand", "E"),
    ("layout", "nosuch"),
    ("layout", SPARSE, "--operand", "metadata", "--selector", "9"),
    ("compress", SPARSE, "absent.npy"),
    ("compress", SPARSE, "binary"),
    ("compress", SPARSE, "empty"),
    ("compress", SPARSE, "folder"),
    ("decompress", SPARSE, "binary", "empty"),
    ("descriptor", "decode", "zz"),
    ("descriptor", "decode", "0xfffffffffffffffffff"),
    ("descriptor", "encode", "x=1"),
    ("check", "binary"),
    ("check", "empty"),
    ("check", "folder"),
    ("check", "empty", "--baseline", "broken.json"),
    ("check", "empty", "--baseline", "other.json"),
    ("check", "empty", "--baseline", "binary"),
    ("check", "empty", "--target", "sm_1"),
    ("check", "empty", "--baseline", ""),
    ("check", "empty", "--write-baseline", ""),
    ("check", "empty", "--config", ""),
    ("gen", MMA, "--out", ""),
    ("prove", "layout wgmma.d", "--dump", ""),
    ("litmus", "--emit", ""),
    ("legal", "--batch", ""),
    ("prove", "nosuch*"),
    ("prove", "layout wgmma.d", "--timeout", "x"),
    ("prove", "layout wgmma.d", "--timeout", "-1"),
    ("prove", "layout wgmma.d", "--timeout", "nan"),
    ("prove", "layout wgmma.d", "--timeout", "inf"),
    ("prove", "layout wgmma.d", "--timeout", "1e30"),
    ("run", "movmatrix", "--limit", "0"),
    ("list", "--format", "xyz"),
    ("prove", "layout wgmma.d", "--dump", "empty"),
    ("gen", "nosuch*", "--out", "folder"),
    ("gen", MMA, "--out", "empty"),
    ("gen", MMA, "--out", "folder", "--target", "sm_1"),
    ("run", "nosuch*"),
    ("run", "--via", "nosuch"),
    ("litmus", "nosuch*"),
    ("litmus", "--reading", "nosuch=1"),
    ("litmus", "--ptxas", "absent"),
    ("ordering", "--length", "-1"),
    ("ordering", "--reading", "nosuch"),
    ("assemble", "nosuch*"),
    ("assemble", "movmatrix", "--release", "x"),
    ("assemble", "movmatrix", "--ptxas", "folder"),
    ("toolchain", "fetch", "x"),
    ("contradictions", "nosuch"),
    ("evidence", "nosuch"),
    ("evidence", "--again", "x"),
    ("diff", "8.0"),
    ("diff", "8.0", "x"),
    ("diff", "--spec", "nosuch", "folder"),
    ("schema", "nosuch"),
]


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_answered_with_2_and_a_sentence(
    arguments: tuple[str, ...],
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").touch()
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == "" or arguments[0] == "check"  # which goes on to the next file, and counts them
    assert "ptxmma: " in err and len(err.split("ptxmma: ")[-1].split()) > 2, err
    assert "Traceback" not in err
