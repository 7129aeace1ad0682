"""Text that nobody judged is a fault with its place, and never a file without findings."""

from __future__ import annotations

import pytest

from ptxmma.check.check_file import check_text
from ptxmma.check.ptx.reader import read_module
from ptxmma.spec.errors import Question

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
KERNEL = (
    ".visible .entry k()\n{\n.reg .f32 %f<4>;\nadd.f32 %f1, %f2, %f3;\nwgmma.fence.sync.aligned;\nret;\n}\n"
)
TEXT = HEAD + KERNEL
# What the compiler of cuTile writes: its own language, line by line, and where each statement came from.
NEWER = TEXT.replace("8.0", "9.4")
SOURCES = """\
.nv_intermediate_source_section {
  .code_block {
    .ir_name: "tile ir"
    .sourceFileName: 1
    .source_begin
entry @k(%a: tile<i32>) { // } not a comment
  "a /* } .source_end
x.source_end
 \t.source_end
  }
}
"""


def error(text: str) -> str:
    """Why a text is refused whole."""
    with pytest.raises(Question) as refused:
        check_text(text, "k.ptx")
    return str(refused.value)


def faults(text: str) -> list[str]:
    report = check_text(text, "k.ptx")
    assert not report.holds or not report.faults
    return [f"{fault.place.line}:{fault.place.column}: {fault.what}" for fault in report.faults]


def test_the_text_that_the_cases_spoil_is_right() -> None:
    assert check_text(TEXT, "k.ptx").holds


# Each of these ptxas 13.5 refuses too; it accepts all that `test_what_ptxas_reads_is_read` holds.
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}  /* open\n{KERNEL}", "k.ptx:4:3: the comment is not closed"),
        (f"{TEXT}/*/", "k.ptx:11:1: the comment is not closed"),
        (f'{HEAD}.file 1 "x.cu\n{KERNEL}', "k.ptx:4:9: the string is not closed"),
        (f'{HEAD}.file 1 "x.cu\n.file 2 "y.cu"\n{KERNEL}', "k.ptx:4:9: the string is not closed"),
        (f'{HEAD}.file 1 "a\\"b.cu"\n{KERNEL}', "k.ptx:4:17: the string is not closed"),
        (
            TEXT.replace("add.", '.pragma "a; add.').replace("ret;", '.pragma "b; ret;'),
            "k.ptx:7:9: the string is not closed",
        ),
        (f"{HEAD}// \0\n{KERNEL}", "k.ptx:4:4: this is not PTX: it holds a NUL byte"),
        (f"{TEXT}\0", "k.ptx:11:1: a NUL byte ends the text, as NVRTC closes PTX"),
        (f"{TEXT}\0\0", "k.ptx:11:1: a NUL byte ends the text, as NVRTC closes PTX"),
        (f"{TEXT}\0\n", "k.ptx:11:1: this is not PTX: it holds a NUL byte"),
        (f"\ufeff{TEXT}", "k.ptx:1:1: a byte order mark"),
        ("\udcff\udcfe.\0v\0", "k.ptx:1:1: this is not PTX: it looks like UTF-16"),
        (TEXT.replace("k()", "\udce9()"), "k.ptx:4:17: the byte 0xe9 stands outside a comment"),
        (TEXT.replace("k()", "é()"), "k.ptx:4:17: U+00E9 stands outside a comment"),
        (
            NEWER + SOURCES.replace("\t.source_end", ".source_end }"),
            "k.ptx:15:5: the source text is not closed; a line .source_end",
        ),
        (NEWER + SOURCES.replace("%a", "%\xe9"), "k.ptx:16:11: U+00E9 stands outside a comment"),
        (TEXT[:-3], "is not closed; a '}' is missing"),
        (f"{TEXT}.entry k", ".entry has neither a body nor a ';'"),
        (TEXT + TEXT, "k.ptx:11:1: a second .version in one file"),
        (f"{HEAD}.target sm_80\n{KERNEL}", "k.ptx:4:1: a second .target in one file"),
        (".version 8.0\n" + KERNEL, "the file has no .target"),
        (KERNEL, "k.ptx:1:1: this is not PTX: .version must come first"),
        ("#include <cuda.h>\nint main() { return 0; }\n", "k.ptx:1:1: this is not PTX"),
        (HEAD.replace("64", "many") + KERNEL, "k.ptx:3:1: .address_size must be followed by a number"),
        ("", "k.ptx:1:1: this is not PTX: it has no .version"),
        ("// nothing\n", "k.ptx:1:1: this is not PTX: it has no .version"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_at_its_place(text: str, message: str) -> None:
    assert message in error(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"{TEXT}}}\n", "11:1: '}' is not a directive of a module"),
        (f"{TEXT}.visible\n", "11:1: nothing follows .visible; the file may be cut off here"),
        (f"{HEAD}.foo 3;\n{KERNEL}", "4:1: .foo is not a directive of a module"),
        (TEXT.replace("ret;", ".foo 3;\nret;"), "9:1: .foo is not a directive of a function's body"),
        (TEXT.replace("%f3;", "%f3"), "7:1: a ';' is missing in or behind 'add.f32 %f1, %f2, %f3'"),
        (
            TEXT.replace("%f3;\n", "%f3 "),
            "7:1: a ';' is missing in or behind 'add.f32 %f1, %f2, %f3 wgmma.fence",
        ),
        (TEXT.replace("add.f32 %f1, %f2, %f3;", "exit"), "7:1: a ';' is missing in or behind 'exit'"),
        (TEXT.replace("<4>;", "<4>"), "6:1: a ';' is missing behind '.reg .f32 %f<4>'"),
        (
            TEXT.replace("add.f32 %f1, %f2, %f3;", ".shared .b8 x[4]"),
            "7:1: a ';' is missing behind '.shared .b8 x[4]'",
        ),
        (TEXT.replace("add", ".loc one wgmma.fence.sync.aligned; add"), "7:1: '.loc one"),
        (TEXT + SOURCES, "11:1: .nv_intermediate_source_section needs .version 9.4 or later"),
        (TEXT.replace("ret;", ".loc_intermediate 1 2 3 ret;"), "9:1: .loc_intermediate needs .version 9.4"),
        (f"{NEWER}.loc_intermediate 1 2 3;", "11:1: .loc_intermediate is not a directive of a module"),
        (TEXT.replace("ret;", "ret;\n}"), "11:1: '}' is not a directive of a module"),
    ],
)
def test_text_that_is_not_read_is_a_fault_at_its_place(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", " "),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("ret;", "T: .branchtargets\n\tA,\n\tB;\nA: B: ret;"),
        f"{HEAD}// caf\udce9 é\n{KERNEL}",
        f"{HEAD}/*/ x */{KERNEL}",
        TEXT.replace("ret;", '.loc 1 2 3 ret; .pragma "nounroll";'),
        f'{HEAD}.file 1 "C:\\" .file 2 "/* no comment", 1, 2\n{KERNEL}',
        f'{HEAD}.file 1 "a\nb.cu"\n{KERNEL}',
        TEXT.replace("ret;", '.pragma "a\n; wgmma.fense; }\n" , "b;";ret;'),
        TEXT.replace("ret;", '.pragma "a; wgmma.fense; }" ;ret;'),
        NEWER + SOURCES,
        NEWER + SOURCES.replace(" \t.source_end", ".source_end \t"),
        f"{NEWER}.nv_intermediate_source_section {{\n}}\n",
        NEWER.replace("ret;", ".loc 1 2 3\n.loc_intermediate 1 2\n3 ret;"),
    ],
)
def test_what_ptxas_reads_is_read(text: str) -> None:
    report = check_text(text, "k.ptx")
    assert not report.faults
    assert (report.functions, report.statements) == (1, 3)


def test_statements_behind_a_header_on_the_same_line_are_judged() -> None:
    text = TEXT.replace("wgmma.fence", "wgmma.fense").replace("\n", " ")
    assert not check_text(text, "k.ptx").holds


@pytest.mark.parametrize(
    "begun",
    [
        "wgmma.",
        "mma.",
        "tcgen05.",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.",
        "wgmma.fence.sync.aligned",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3},",
        "add.f32 %f1,",
        "@%p1 add.f32 %f1, %f2",
    ],
)
def test_a_statement_without_its_end_takes_no_other_line_with_it(begun: str) -> None:
    own = begun.removeprefix("@%p1 ").split()[0].rstrip(".")
    for line, opcode in (
        ("wgmma.commit_group.sync.aligned;", "wgmma.commit_group.sync.aligned"),
        ("mov.u32 %x, 1;", "mov.u32"),
        ("@%p wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned"),
        (".reg .b32 %x;", None),
        ("LOOP:\n\tmov.u32 %x, 1;", "mov.u32"),
        ("$L__BB0_1: @%p bra $L__BB0_1;", "bra"),
    ):
        module = read_module(TEXT.replace("add.f32 %f1, %f2, %f3;", f"{begun}\n\t{line}"), "k.ptx")
        function = module.functions[0]
        opcodes = [own, opcode, "wgmma.fence.sync.aligned", "ret"]
        assert [one.opcode for one in function.statements] == [one for one in opcodes if one], line
        assert function.register("%x", 0) == (("%x", "b32") if opcode is None else None)
        assert [fault.place.line for fault in module.faults] == [7]
        labels = {line.partition(":")[0]: 1} if ":" in line else {}
        assert function.scopes[0].labels == labels


def test_a_colon_of_a_constant_expression_is_no_label() -> None:
    module = read_module(TEXT.replace("ret;", "mov.u32 %r1, 1 ?\n2 :\n3;\nret;"), "k.ptx")
    assert module.functions[0].statements[-2].operands == "%r1, 1 ?\n2 :\n3" and not module.faults


@pytest.mark.parametrize(
    "name",
    ["wgmma\n.fence\n.sync.aligned", "wgmma.\nfence.sync.aligned", "atom.global.\nadd.u32", "ld\n.shared.u32",
     "multimem.\nred.add.u32", "fence.\nacq_rel.gpu", "wmma.\nmma.sync.aligned.m16n16k16.row.col.f32.f32",
     "tcgen05.\nld.sync.aligned.32x32b.x1.b32", "wgmma.\nfence.sync.alinged"],
)  # fmt: skip
def test_a_name_may_stand_on_two_lines(name: str) -> None:
    module = read_module(TEXT.replace("ret;", f"{name} x;\nret;"), "k.ptx")
    assert module.functions[0].statements[-2].opcode == name.replace("\n", "") and not module.faults
