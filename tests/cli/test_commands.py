"""The commands as a user runs them: outputs, formats, exit codes, schemas."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptxmma.check.rule_texts import FILES as RULES
from ptxmma.gen.pictures.cute import derive
from ptxmma.gen.pictures.tables import table_of
from ptxmma.ledger.contradiction_file import FILES as CONTRADICTIONS
from ptxmma.spec.loading import ROOT
from ptxmma.spec.schema import schemas
from ptxmma.spec.specification import Specification

from ..answers import OUTPUTS, valid

Run = Callable[..., tuple[int, str, str]]
SP = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_list(run: Run) -> None:
    code, out, _ = run("list", "wgmma.mma_async.sp", "--format", "json")
    entries = json.loads(out)
    valid("list", entries)
    assert (code, len(entries)) == (0, 528)
    entry = next(entry for entry in entries if entry["ptx"] == SP)
    assert entry == {
        "ptx": SP,
        "instruction": "wgmma.mma_async.sp",
        "row": "f16",
        "since": "8.2",
        "deprecated": None,
        "removed": None,
        "targets": ["sm_90a"],
        "operand_forms": [
            {
                "a": "descriptor",
                "operands": ["d", "a-desc", "b-desc", "sp-meta", "sp-sel", "scale-d", "imm-scale-a", "imm-scale-b", "imm-trans-a", "imm-trans-b"],
                "vectors": {"d": 4},
            },
            {
                "a": "register",
                "operands": ["d", "a", "b-desc", "sp-meta", "sp-sel", "scale-d", "imm-scale-a", "imm-scale-b", "imm-trans-b"],
                "vectors": {"d": 4, "a": 4},
            },
        ],
    }  # fmt: skip


def test_list_spells_as_the_version_does(run: Run) -> None:
    _, old, _ = run("list", "wmma.mma", "--ptx", "6.2", "--target", "sm_70")
    _, new, _ = run("list", "wmma.mma", "--ptx", "6.3", "--target", "sm_70")
    assert ".aligned" not in old and old.count("wmma.mma.sync.") == 3 * 4 * 4 * 2
    assert new.count("wmma.mma.sync.aligned.") == 3 * 4 * 4 * 2
    _, out, _ = run("list", "wmma.mma", "--ptx", "9.5")
    assert "f16.f16.satfinite" not in out
    code, _, _ = run("list", "no.such.thing")
    assert code == 1


def test_show(run: Run) -> None:
    code, out, _ = run("show", SP)
    assert code == 0
    assert "sp-sel" in out and "0 or 1" in out and "9.7.15.6.3" in out
    code, out, _ = run("show", SP, "--format", "json")
    valid("show", json.loads(out))
    code, _, err = run("show", "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f17")
    assert code == 2
    assert "f17" in err


def test_show_has_the_arithmetic_as_latex(run: Run) -> None:
    code, out, _ = run("show", MMA, "--latex")
    lines = out.splitlines()
    assert code == 0 and lines[0] == f"% {MMA} on sm_90"
    assert r"\mathrm{window} &= 25 \\" in lines
    assert r"\mathrm{quantum} &= \mathrm{top} - \mathrm{window} \\" in lines
    power = r"2^{\mathrm{exponent\_bits} + \mathrm{fraction\_bits}}"
    assert rf"\left\lfloor{{\frac{{\mathrm{{stored}}}}{{{power}}}}}\right\rfloor" in out
    assert [line for line in lines if "_{\\text{terms}}" in line][-1].startswith(
        r"\mathrm{minus} &= \sum_{\text{terms}} \left(\begin{cases} \mathrm{kept} & \text{for}\: \mathrm{negative} = 1"
    )
    for one in lines:
        assert one.count("{") == one.count("}") and one.count(r"\left") == one.count(r"\right"), one
    assert out.count(r"\begin{aligned}") == out.count(r"\end{aligned}") == 8
    assert run("show", MMA, "--latex", "--format", "json")[0] == 2
    code, _, told = run("show", "movmatrix.sync.aligned.m8n8.trans.b16", "--latex")
    assert code == 2 and "no arithmetic of movmatrix.sync.aligned.m8n8.trans.b16 is known" in told


def test_layout_json(run: Run) -> None:
    code, out, _ = run("layout", SP, "--operand", "D", "--format", "json")
    value = json.loads(out)
    valid("layout", value)
    assert code == 0
    assert {key: value[key] for key in ("rows", "cols", "threads", "elements")} == {
        "rows": 64, "cols": 8, "threads": 128, "elements": 4,
    }  # fmt: skip
    assert len(value["map"]) == 512
    code, out, _ = run("layout", SP, "--operand", "A", "--a-source", "register", "--format", "json")
    assert json.loads(out)["cols"] == 16
    code, out, _ = run("layout", SP, "--operand", "metadata", "--selector", "1", "--format", "json")
    value = json.loads(out)
    valid("metadata", value)
    assert value["selector"] == 1 and {thread % 4 for thread, *_ in value["map"]} == {2, 3}


def test_layout_answers_one_question(run: Run) -> None:
    assert run("layout", MMA, "--operand", "A", "--row", "9", "--col", "3")[1] == (
        "thread 5 a3 (register 1, bits 16..31) holds row 9, column 3\n"
    )
    assert run("layout", MMA, "--operand", "A", "--thread", "5", "--element", "3")[1].endswith(
        "row 9, column 3\n"
    )
    code, out, _ = run(
        "layout", SP, "--operand", "metadata", "--row", "63", "--chunk", "7", "--format", "json"
    )
    assert code == 0 and len(json.loads(out)["map"]) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("--operand", "A", "--row", "16", "--col", "0"),
        ("--operand", "A", "--row", "1"),
        ("--operand", "A", "--row", "1", "--col", "1", "--thread", "1", "--element", "1"),
        ("--operand", "A", "--selector", "1"),
        ("--operand", "A", "--a-source", "descriptor"),
        ("--operand", "metadata"),
        ("--operand", "E"),
    ],
)
def test_layout_refuses(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run("layout", MMA, *arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_opaque_fragments_say_so(run: Run) -> None:
    code, _, err = run("layout", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "--operand", "A")
    assert code == 2
    assert "opaque" in err and "9.7.14.4.1" in err


def test_pictures(run: Run) -> None:
    _, text, _ = run("layout", MMA, "--operand", "D")
    assert " 9 T4:d2  T4:d3  T5:d2" in text
    _, table, _ = run("layout", MMA, "--operand", "D", "--format", "csv")
    rows = list(csv.reader(io.StringIO(table)))
    assert rows[0] == ["thread", "element", "register", "bit_low", "row", "col"] and len(rows) == 129
    _, marked, _ = run("layout", MMA, "--operand", "D", "--format", "markdown")
    assert marked.count("\n| **") == 16
    _, drawn, _ = run("layout", MMA, "--operand", "D", "--format", "svg")
    labels = [node.text for node in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert labels.count("T5:d3") == 1 and len(labels) == 3 + (1 + 4) + (1 + 8) + 8 + 16 + 128
    _, formula, _ = run("layout", MMA, "--operand", "D", "--latex")
    assert formula.splitlines()[1:3] == [
        r"\mathrm{row} &= 8 \left\lfloor{\frac{i}{2}}\right\rfloor + \left\lfloor{\frac{t}{4}}\right\rfloor \\",
        r"\mathrm{col} &= \left(i \bmod 2\right) + 2 \left(t \bmod 4\right) \\",
    ]
    _, formula, _ = run("layout", SP, "--operand", "metadata", "--latex")
    lines = formula.splitlines()
    assert r"\mathrm{index\_bit} &= \mathrm{bit} \bmod 2 \\" in lines
    assert lines[2].startswith(r"\mathrm{chunk} &= 4 \left(t \bmod 2\right) + ")
    assert lines[2].endswith(r"\left\lfloor{\frac{\mathrm{bit} \bmod 16}{4}}\right\rfloor \\")


def test_python_functions_say_the_same(run: Run, specification: Specification) -> None:
    _, code, _ = run("layout", MMA, "--operand", "A", "--format", "python")
    names: dict[str, Callable[..., tuple[int, int]]] = {}
    exec(code, names)
    position, holder, place = (
        names[f"mma_m16n8k16_row_col_f32_f16_f16_f32_a_{n}"] for n in ("position", "holder", "place")
    )
    for t, i, register, low, row, col in table_of(specification, specification.find(MMA), "A").entries:
        assert position(t, i) == (row, col) and holder(row, col) == (t, i) and place(i) == (register, low)


def test_cuda_functions_say_the_same(run: Run, specification: Specification, tmp_path: Path) -> None:
    _, code, _ = run("layout", SP, "--operand", "D", "--format", "cuda")
    entries = table_of(specification, specification.find(SP), "D").entries
    table = ",".join("{" + ",".join(map(str, entry)) + "}" for entry in entries)
    source = tmp_path / "map.c"
    source.write_text(
        f"#define __host__\n#define __device__\n{code}\nstatic unsigned m[][6] = {{{table}}};\n"
        "int main(void) { for (unsigned k = 0; k < sizeof m / sizeof *m; k++) { unsigned *e = m[k];\n"
        " if (wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_row(e[0], e[1]) != e[4] || wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_col(e[0], e[1]) != e[5]) return 1;\n"
        " if (wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_thread(e[4], e[5]) != e[0] || wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_element(e[4], e[5]) != e[1]) return 2;\n"
        " if (wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_register(e[1]) != e[2] || wgmma_mma_async_sp_m64n8k32_f32_f16_f16_d_bit_low(e[1]) != e[3]) return 3; } return 0; }\n"
    )
    subprocess.run(
        ["gcc", "-Wall", "-Wno-unused-function", "-Werror", "-o", tmp_path / "map", source], check=True
    )
    subprocess.run([tmp_path / "map"], check=True)


# CLayout_64x24 and ALayout_64x16 as CUTLASS has them
@pytest.mark.parametrize(
    ("mnemonic", "operand", "wanted"),
    [
        (
            "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16",
            "D",
            "((4,8,4),(2,2,3)):((128,1,16),(64,8,512))",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16",
            "A",
            "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
        ),
        ("wgmma.mma_async.sync.aligned.m64n24k8.f32.tf32.tf32", "A", "((4,8,4),(2,2)):((64,1,16),(8,256))"),
        (MMA, "B", "((4,8),(2,2)):((16,1),(8,64))"),
    ],
)
def test_cute(run: Run, specification: Specification, mnemonic: str, operand: str, wanted: str) -> None:
    assert run("layout", mnemonic, "--operand", operand, "--format", "cute")[1].split("\n")[0] == wanted
    threads, values = derive(table_of(specification, specification.find(mnemonic), operand))
    assert threads and values


@pytest.mark.parametrize(
    ("mnemonic", "selector"),
    [
        (SP, 0),
        (SP, 1),
        (SP.replace("m64n8k32.f32.f16.f16", "m64n8k64.s32.s8.u8"), 0),
        (SP.replace("m64n8k32.f32.f16.f16", "m64n8k16.f32.tf32.tf32"), 1),
    ],
)
def test_compress_and_back(run: Run, tmp_path: Path, mnemonic: str, selector: int) -> None:
    k = int(mnemonic.split("k")[1].split(".")[0])
    chunk, keep = (2, 1) if "tf32" in mnemonic else (4, 2)
    kind = numpy.int8 if "s8" in mnemonic else numpy.float32
    random = numpy.random.default_rng(1)
    matrix = random.integers(-9, 9, (64, k)).astype(kind)
    for row in matrix:
        for start in range(0, k, chunk):
            row[random.permutation(chunk)[keep:] + start] = 0
    if kind is numpy.float32:
        matrix[0, :chunk] = 0
        matrix[0, 1] = -0.0
    names = [str(tmp_path / name) for name in ("a.npy", "p.npy", "m.npy", "b.npy")]
    numpy.save(names[0], matrix)
    assert (
        run(
            "compress",
            mnemonic,
            names[0],
            "--selector",
            str(selector),
            "--packed",
            names[1],
            "--metadata",
            names[2],
        )[0]
        == 0
    )
    packed, words = numpy.load(names[1]), numpy.load(names[2])
    assert packed.shape == (64, k * keep // chunk) and words.shape == (128,) and words.dtype == numpy.uint32
    assert (
        run("decompress", mnemonic, names[1], names[2], "--selector", str(selector), "--matrix", names[3])[0]
        == 0
    )
    assert numpy.load(names[3]).tobytes() == matrix.tobytes()


def test_compress_names_a_chunk_with_too_many(run: Run, tmp_path: Path) -> None:
    matrix = numpy.zeros((64, 32), numpy.float16)
    matrix[5, 8:11] = 1
    numpy.save(tmp_path / "a.npy", matrix)
    code, _, err = run("compress", SP, str(tmp_path / "a.npy"))
    assert code == 2
    assert "row 5, chunk 2 (columns 8..11) has 3 non-zero elements" in err
    (tmp_path / "bad.npy").write_bytes(b"no array")
    for arguments in (
        (SP, str(tmp_path / "bad.npy")),
        (SP, str(tmp_path / "none.npy")),
        (MMA, str(tmp_path / "a.npy")),
    ):
        assert run("compress", *arguments)[0] == 2


def test_descriptor(run: Run) -> None:
    """9.7.15.5.1.2.2: matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4, mode 1 is 128-byte swizzling."""
    wanted = (0x8400 & 0x3FFFF) >> 4 | (2064 >> 4) << 16 | (1168 >> 4) << 32 | 5 << 49 | 1 << 62
    fields = (
        "start-address=0x8400",
        "leading-dimension-byte-offset=2064",
        "stride-dimension-byte-offset=1168",
        "base-offset=5",
        "swizzle-mode=128B",
    )
    code, out, _ = run("descriptor", "encode", *fields, "--format", "json")
    value = json.loads(out)
    valid("descriptor", value)
    assert (code, value["word"]) == (0, f"{wanted:#018x}")
    assert run("descriptor", "decode", value["word"], "--format", "json")[1] == out
    for wrong in (
        "start-address=8",
        "start-address=262144",
        "swizzle-mode=4",
        "base-offset=8",
        "stat-address=16",
        "x",
    ):
        assert run("descriptor", "encode", wrong)[0] == 2
    assert run("descriptor", "decode", "0x8000")[0] == 2  # bit 15 is reserved


def test_addresses_and_back(run: Run) -> None:
    """K-major, 128-byte swizzle: row r of 128 bytes, 16-byte unit u at (u ^ r % 8)."""
    _, out, _ = run(
        "descriptor",
        "encode",
        "start-address=2048",
        "stride-dimension-byte-offset=1024",
        "swizzle-mode=128B",
        "--format",
        "json",
    )
    word = json.loads(out)["word"]
    for row, k in ((0, 0), (1, 0), (9, 3), (255, 15)):
        wanted = 2048 + row // 8 * 1024 + row % 8 * 128 + ((k * 2 // 16) ^ row % 8) * 16 + k * 2 % 16
        _, out, _ = run("descriptor", "address", word, "--row", str(row), "--k", str(k), "--format", "json")
        assert json.loads(out) == {"address": wanted, "row": row, "k": k}
        _, out, _ = run("descriptor", "address", word, "--address", hex(wanted), "--format", "json")
        assert json.loads(out) == {"address": wanted, "row": row, "k": k}
    assert run("descriptor", "address", word, "--row", "256", "--k", "0")[0] == 2


@pytest.mark.slow
def test_clauses_and_prove(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("clauses", "--format", "json")
    valid("clauses", json.loads(out))
    assert code == 0
    code, out, _ = run(
        "prove", "layout wgmma.d", "--solver", "z3", "--format", "json", "--dump", str(tmp_path)
    )
    value = json.loads(out)
    valid("prove", value)
    assert code == 0 and len(list(tmp_path.glob("*.smt2"))) == len(value["results"]) == 5
    assert run("prove", "no such theorem")[0] == 2
    assert "sparse.product" in run("prove", "--list")[1]


def test_what_is_listed_has_schemas(run: Run) -> None:
    for schema, words, count, part in (
        ("contradictions", ("contradictions",), 152, {"id": "text-mma-m8n84"}),
        (
            "prove-list",
            ("prove", "--list"),
            None,
            {
                "theorem": "swizzle.involution",
                "formula": "for each mode, address x, base offset b: swizzle(swizzle(x, b), b) == x",
                "fails": "an address that is not found again",
            },
        ),
    ):
        code, out, _ = run(*words, "--format", "json")
        records = json.loads(out)
        valid(schema, records)
        assert code == 0 and count in (None, len(records))
        assert any(part.items() <= record.items() for record in records)
    code, out, _ = run("ordering", "--alphabet", "--format", "json")
    valid("ordering-alphabet", json.loads(out))
    assert json.loads(out) == run("ordering", "--alphabet")[1].splitlines()
    code, out, _ = run("contradictions", "--run", "text-mma-m8n84", "--format", "json")
    if code != 2:  # an assembler is here
        valid("contradictions-run", json.loads(out))
        assert code == 0 and json.loads(out)


def test_the_committed_schema_is_the_models(run: Run) -> None:
    assert json.loads((ROOT / "spec" / "schema.json").read_text()) == schemas({**CONTRADICTIONS, **RULES})
    assert json.loads(run("schema")[1]) == schemas({**CONTRADICTIONS, **RULES})


def test_the_schemas_are_schemas() -> None:
    for schema in (OUTPUTS, schemas({**CONTRADICTIONS, **RULES})):
        assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_yaml_satisfies_the_schema() -> None:
    import yaml

    schema = schemas({**CONTRADICTIONS, **RULES})
    checked = 0
    for pattern in schema["properties"]:
        holds = jsonschema.Draft202012Validator({**schema["properties"][pattern], "$defs": schema["$defs"]})
        for path in ROOT.glob(pattern):
            if pattern == "spec/layouts/*.yaml" and path.name == "bridges.yaml":
                continue
            value = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
            holds.validate(value)
            checked += 1
    assert checked >= 15


@pytest.mark.parametrize(
    "arguments", [(), ("nonsense",), ("layout",), ("list", "--ptx", "8"), ("prove", "--solver", "yices")]
)
def test_wrong_calls_exit_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err


def test_verdicts_satisfy_their_schemas(run: Run, tmp_path: Path) -> None:
    """Legal, illegal and unknown: the same verdict and reasons alone and in a batch."""
    statements = [
        f"{SP} {{a,b,c,d}}, x, y, e, 0, p, 1, 1, 0, 0;",
        f"{SP} {{a,b,c}}, x, y, e, 2, p, 1, 1, 0, 0;",
        "@p wgmma.fence.sync.aligned;",
        "wgmma.fence.sync.aligned",
        "frobnicate.mma.cta_group::1.kind::f16 [d], x, y, z, p;",
        "again: wgmma.fence.sync.aligned ;",
        f"{SP}  {{a,b,c,d}}, x, y, e, 0, p, 1, 1, 0, 0, *;",
    ]
    alone = []
    for statement in statements:
        code, out, _ = run("legal", statement, "--target", "sm_90a", "--format", "json")
        value = json.loads(out)
        valid("legal", value)
        assert code == {"legal": 0, "illegal": 1, "unknown": 2}[value["verdict"]]
        alone.append({"verdict": value["verdict"], "reasons": value["reasons"]})
    assert [value["verdict"] for value in alone] == [
        "legal", "illegal", "legal", "illegal", "unknown", "legal", "illegal",
    ]  # fmt: skip
    (tmp_path / "batch").write_text("\n".join(statements))
    code, out, _ = run("legal", "--batch", str(tmp_path / "batch"), "--target", "sm_90a")
    lines = [json.loads(line) for line in out.splitlines()]
    for number, (line, single) in enumerate(zip(lines, alone, strict=True), 1):
        valid("legal-batch-line", line)
        assert line == {"line": number, **single}
    assert code == 1


def test_the_address_output_satisfies_its_schema(run: Run) -> None:
    _, out, _ = run(
        "descriptor", "address", "0x4000004000000040", "--row", "9", "--k", "3", "--format", "json"
    )
    valid("address", json.loads(out))


def test_function_names_tell_maps_apart(run: Run) -> None:
    """What is pasted side by side must not collide: other types, shapes, operands and selectors."""
    names: list[str] = []
    for words in (
        (MMA, "--operand", "C"),
        (MMA, "--operand", "D"),
        (MMA.replace("f32", "f16"), "--operand", "C"),
        (SP, "--operand", "metadata", "--selector", "0"),
        (SP, "--operand", "metadata", "--selector", "1"),
    ):
        _, code, _ = run("layout", *words, "--format", "cuda")
        names += [line.split("(")[0].split()[-1] for line in code.splitlines() if line.startswith("static")]
    assert len(names) == len(set(names)) > 20


OPERANDS = ("A", "B", "C", "D", "metadata", "scale-a", "scale-b", "p", "x", "")
FORMATS = ("text", "json", "csv", "markdown", "svg", "cuda", "python", "cute", "tex")
NUMBERS = ("0", "1", "2", "7", "128", "-1", "99999999999999999999", "x")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.sampled_from((SP, MMA, "wmma.mma", "", "mma.sync.aligned", f"{SP}.", f"{MMA} {{a}};")), st.text()),
    st.sampled_from(OPERANDS),
    st.lists(
        st.one_of(
            st.tuples(
                st.sampled_from(("--thread", "--element", "--row", "--col", "--bit", "--chunk", "--selector")),
                st.sampled_from(NUMBERS),
            ),
            st.tuples(st.just("--format"), st.sampled_from(FORMATS)),
            st.tuples(st.just("--a-source"), st.sampled_from(("register", "descriptor", "both"))),
        ),
        max_size=4,
    ),
)  # fmt: skip
def test_layout_never_shows_a_traceback(
    run: Run, mnemonic: str, operand: str, options: list[tuple[str, str]]
) -> None:
    words = [word for option in options for word in option]
    code, out, err = run("layout", f"--operand={operand}", *words, "--", mnemonic)
    assert code in (0, 2)
    assert (code == 0) == bool(out) == (not err)
    assert "Traceback" not in err
