"""What is read of a C++ source: strings, operands, conditions. Expected values are typed by hand."""

from __future__ import annotations

import pytest

from ptxmma.check.cuda.asm_statements import AsmStatement, read_source
from ptxmma.check.cuda.check_source import check_source
from ptxmma.check.cuda.enclosing import enclosing


def template(asm: AsmStatement) -> str:
    return "".join("?" if character is None else character for character, _ in asm.template)


def only(text: str) -> AsmStatement:
    source = read_source(text)
    assert not source.faults
    (asm,) = source.statements
    return asm


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('asm("a;");', "a;"),
        ('asm volatile ( "a.b " "{%0}, %1;\\n\\t" : );', "a.b {%0}, %1;\n\t"),
        ('__asm__ __volatile__("a" /* "x" */ "b" // "y"\n "c");', "abc"),
        ('asm(R"(a\n"b")" ";");', 'a\n"b";'),
        ('asm(R"x(a)" )x");', 'a)" '),
        (r'asm("\x41\101\"\\;");', 'AA"\\;'),
        ('asm("a\\\nb");', "ab"),
        ('#define T "f32"\nasm("a." T ";");', "a.f32;"),
        ('#define T "f32"\n#define U T ".b"\nasm("a." U ";");', "a.f32.b;"),
        ('#define T "f32"\n#define T "f16"\nasm("a." T ";");', "a.?;"),
        ('asm("a." TYPE(x, "y") ".c;");', "a.??.c;"),
        ('#define M(type) asm("a." #type ";" :: "r"(x))', "a.??;"),
        ("auto x = 1'000'000; asm(\"a;\"); char c = '\"';", "a;"),
    ],
)
def test_pieces_are_joined(text: str, wanted: str) -> None:
    assert template(only(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        '// asm("a;")',
        '/* asm("a;") */',
        '"asm(\\"a;\\")"',
        'R"(asm("a;"))"',
        "int asm_count(int);",
        "struct asm { };",
        '#include "asm(x).h"',
    ],
)
def test_what_is_no_asm_statement_is_passed_over(text: str) -> None:
    source = read_source(text)
    assert not source.statements and not source.faults


def test_every_character_has_its_place() -> None:
    text = 'x = 1;\n  asm("ab\\n"\n      "cd");'
    asm = only(text)
    assert [text[at] for _, at in asm.template] == ["a", "b", "\\", "c", "d"]


def test_operands() -> None:
    asm = only('asm("a" : "=f"(d[0]), [x] "+r"(f(a, b)) : "n"(N > 2 ? 1 : 0), "l" (p) "r"(q) : "memory");')
    assert asm.operands is not None and asm.extended
    assert [(one.constraint, one.name, one.expression, one.output) for one in asm.operands] == [
        ("=f", "", "d[0]", True),
        ("+r", "x", "f(a, b)", True),
        ("n", "", "N > 2 ? 1 : 0", False),
        ("l", "", "p", False),
        ("r", "", "q", False),  # nvcc takes a list that lacks a comma
    ]


def test_lists_that_are_absent_empty_or_spelled_by_macros() -> None:
    assert (only('asm("a");').operands, only('asm("a");').extended) == ((), False)
    assert (only('asm("a" ::: "memory");').operands, only('asm("a" ::: "memory");').extended) == ((), True)
    assert only('asm("a" :: OPERANDS(x));').operands is None
    (operand,) = only('asm("a" : "=" LETTER (x));').operands or ()
    assert operand.constraint is None


def test_a_guard_is_what_all_branches_say() -> None:
    text = """
#if A
#elif B > 1
# ifdef C
asm("x");
# else
asm("y");
# endif
#else
asm("z");
#endif
asm("w");
"""
    guards = [[(part.text, part.holds) for part in one.guard] for one in read_source(text).statements]
    assert guards == [
        [("A", False), ("B > 1", True), ("defined(C)", True)],
        [("A", False), ("B > 1", True), ("defined(C)", False)],
        [("A", False), ("B > 1", False)],
        [],
    ]


def test_conditions_go_on_behind_a_backslash() -> None:
    (asm,) = read_source('#if A && \\\n  B // why\nasm("x");\n#endif').statements
    assert [part.text for part in asm.guard] == ["A && B"]


def test_conditions_inside_an_asm_statement_are_choices() -> None:
    text = 'asm("a"\n#if X\n"b"\n# if Y\n"c"\n# endif\n#elif Z\n"d"\n#endif\n"e" :: "r"(x)\n#ifndef W\n, "r"(y)\n#endif\n);'
    found = {
        (
            template(one),
            len(one.operands or ()),
            "".join("!" * (not p.holds) + p.text.strip("!defin()") for p in one.guard),
        )
        for one in read_source(text).statements
    }
    inside = {("abce", "XY"), ("abe", "X!Y"), ("ade", "!XZ"), ("ae", "!X!Z")}
    ends = {(2, "W"), (1, "!W")}
    assert found == {(text, count, guard + end) for text, guard in inside for count, end in ends}


def test_too_many_choices_divide_an_asm_statement() -> None:
    many = "".join(f'#ifdef X{number}\n"b"\n#endif\n' for number in range(5))
    assert only(f'asm("a"\n{many});').divided
    assert only('asm("a"\n#pragma once\n);').divided
    assert only('asm("a"\n#if X\n);').divided


def test_a_spliced_line_end_is_no_token() -> None:
    assert template(only('asm("a" \\\n "b");')) == "ab"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('asm("a;"', "the asm statement is not closed"),
        ('asm("a;"; f(); asm("b;");', "the asm statement is not closed"),
        ("/* never closed", "the comment is not closed"),
        ('asm("wgmma.fence.sync.aligned;\0");', "this is not a source: it holds a NUL byte"),
        ('auto x = R"(never closed', "the raw string is not closed"),
        (
            "// by nvcc // 13\n/* a */ .version 8.5\n.target sm_90a\n",
            "this is PTX; `ptxmma check` without --cuda",
        ),
    ],
)
def test_what_cannot_be_read_is_a_fault(text: str, what: str) -> None:
    assert next(one for _, one in read_source(text).faults).startswith(what)


def test_names_around_a_place() -> None:
    text = """
namespace n { template <class T, int N = (1 >> 0)> struct S : Base<T> {
#if A
  void f(int x) { if (x) {
#else
  void f() { for (;;) {
#endif
  HERE
"""
    assert enclosing(text, text.index("HERE")) == "n::S::f"
    assert enclosing(text, 0) == ""


def test_a_binary_without_the_letters_asm_is_a_fault_too() -> None:
    report = check_source("\x7fELF\0\0", "k.cu")
    assert [one.what for one in report.faults] == [
        "this is not a source: it holds a NUL byte, as binary files and UTF-16 do"
    ]


def test_a_source_that_names_a_version_of_ptx_is_a_source() -> None:
    text = '// .version 8.5\nauto head = ".version 8.5\\n";\nasm("wgmma.fence.sync.aligned;");\n'
    source = read_source(text)
    assert source.faults == [] and len(source.statements) == 1
