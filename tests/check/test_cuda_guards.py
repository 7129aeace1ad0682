"""What conditions of the preprocessor come to, and which targets they admit. Expected values are typed by hand."""

from __future__ import annotations

import pytest

from ptxmma.check.cuda.asm_statements import read_source
from ptxmma.check.cuda.check_source import check_source
from ptxmma.check.cuda.environments import Environments, FileMacros
from ptxmma.check.cuda.nvcc import nvcc
from ptxmma.check.cuda.preprocessor import answer_of, condition
from ptxmma.spec.api import load

LDMATRIX = 'asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(p));'
WGMMA = """asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));"""


def under(conditions: str, statement: str) -> str:
    lines = conditions.strip().split("\n")
    ends = sum(line.split()[0] in ("#if", "#ifdef", "#ifndef") for line in lines)
    ends -= sum(line.startswith("#endif") for line in lines)
    return "\n".join([*lines, statement, *["#endif"] * ends])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 + 2 * 3 == 7", 1),
        ("(1 + 2) * 3", 9),
        ("!defined(A) || B", 1),
        ("0 && X", 0),
        ("1 || X", 1),
        ("1 && X", None),
        ("X == X", None),
        ("0x10 >> 2", 4),
        ("1 ? 2 : X", 2),
        ("X ? 3 : 3", 3),
        ("-1 < 0u", 1),
        ("F(900) && 0", 0),
        ("F(900)", None),
        ("1 /", None),
        ("", None),
        ("(" * 500 + "1" + ")" * 500, None),
        ("9 / 0", 0),
    ],
)
def test_expressions(text: str, wanted: int | None) -> None:
    def leaf(tree: object) -> tuple[int | None]:
        operation, value = tree.operation, tree.value  # type: ignore[attr-defined]
        return (value if operation == "number" else 0 if operation == "defined" else None,)

    assert answer_of(condition(text), leaf) == (wanted,)


def admitted(conditions: str) -> set[str]:
    """The targets that conditions admit for certain under PTX ISA 9.0."""
    source = read_source(under(conditions, 'asm("x");'))
    environments = Environments(load().isa, nvcc(), "9.0", None)
    answer = FileMacros(environments, source.conditionals.defined).holds(source.statements[-1].guard)
    return {one.target for one, held in zip(environments.all, answer, strict=True) if held}


@pytest.mark.parametrize(
    ("conditions", "inside", "outside"),
    [
        ("#if __CUDA_ARCH__ >= 900", "sm_90 sm_90a sm_100 sm_121a", "sm_89 sm_50"),
        ("#if defined(__CUDA_ARCH_FEAT_SM90_ALL)", "sm_90a", "sm_90 sm_100a"),
        ("#ifdef CUTE_ARCH_MMA_SM90A_ENABLED", "sm_90a", "sm_90 sm_100a sm_80"),
        ("#if defined(CUTLASS_ARCH_MMA_SM100F_ENABLED)", "sm_100a sm_100f", "sm_100 sm_103f sm_90a"),
        ("#ifdef CUTE_ARCH_TCGEN05_TMEM_ENABLED", "sm_100a sm_103f sm_110a", "sm_120a sm_100"),
        ("#if __CUDACC_VER_MAJOR__ >= 13 && __CUDA_ARCH__ == 750", "sm_75", "sm_72 sm_80"),
        ("#if __CUDACC_VER_MAJOR__ < 13", "", "sm_75 sm_90a"),
        ("#ifndef __CUDA_ARCH__", "", "sm_75 sm_90a"),
        ("#if __CUDA_ARCH__ < 800\n#else", "sm_80 sm_90", "sm_75"),
        ("#if __CUDA_ARCH__ >= 900\n#define MINE\n#endif\n#ifdef MINE", "sm_90", "sm_89"),
        ("#define N 900\n#if __CUDA_ARCH__ >= N", "sm_90", "sm_89"),
        ("#ifndef HEADER_H\n#define HEADER_H\n#if __CUDA_ARCH__ >= 900", "sm_90", "sm_89"),
        ("#ifdef SOMETHING", "", "sm_90"),
    ],
)
def test_targets(conditions: str, inside: str, outside: str) -> None:
    found = admitted(conditions)
    assert set(inside.split()) <= found and not set(outside.split()) & found


def found(text: str, ptx: str | None = None, target: str | None = None) -> list[tuple[str, str]]:
    report = check_source(text, "x.cu", ptx, target)
    assert not report.faults
    return [(finding.tier, finding.rule) for finding in report.findings]


@pytest.mark.parametrize(
    ("conditions", "statement", "wanted"),
    [
        ("#if __CUDA_ARCH__ >= 750", LDMATRIX, []),
        ("#if __CUDA_ARCH__ >= 700", LDMATRIX, [("likely", "inline.guard")]),
        ("#if __CUDA_ARCH__ < 750", LDMATRIX, [("error", "inline.guard")]),
        ("#if __CUDA_ARCH__ < 750\n#else", LDMATRIX, []),
        ("#if __CUDA_ARCH__ < 900", LDMATRIX, []),  # which says nothing about older ones
        ("#ifdef __CUDA_ARCH__", LDMATRIX, []),
        ("#ifdef SOMETHING", LDMATRIX, []),
        ("#if defined(SOMETHING) && __CUDA_ARCH__ >= 700", LDMATRIX, []),
        ("#if defined(SOMETHING) && __CUDA_ARCH__ < 700", LDMATRIX, [("likely", "inline.guard")]),
        ("#if __CUDA_ARCH__ >= 900", WGMMA, []),  # on sm_90a
        ("#if __CUDA_ARCH__ >= 1000", WGMMA, [("error", "inline.guard")]),
        ("#ifdef CUTE_ARCH_MMA_SM90A_ENABLED", WGMMA, []),
        ("#ifdef CUTLASS_ARCH_MMA_SM100A_ENABLED", WGMMA, [("error", "inline.guard")]),
        ("#if __CUDACC_VER_MAJOR__ < 12", WGMMA, [("error", "inline.guard")]),
    ],
)
def test_what_is_too_new_for_its_guard_is_found(
    conditions: str, statement: str, wanted: list[tuple[str, str]]
) -> None:
    assert found(under(conditions, statement)) == wanted


def test_versions_and_targets_that_are_asked_about() -> None:
    assert found(LDMATRIX, "6.5", "sm_75") == []
    assert found(LDMATRIX, "6.4", "sm_75") == [("error", "legality.gate.since")]
    assert found(LDMATRIX, None, "sm_70") == [("error", "legality.gate.target")]
    assert found(LDMATRIX, "6.0") == [("error", "legality.gate.since")]


def test_what_is_not_compiled_is_not_accused() -> None:
    text = under("#if __CUDA_ARCH__ >= 900", WGMMA)
    report = check_source(text, "x.cu", None, "sm_80")
    assert not report.findings and report.inline is not None
    assert (report.inline.left_out, report.inline.statements) == (1, 1)


def test_every_macro_of_the_table_is_known_everywhere() -> None:
    known = nvcc()
    environments = Environments(load().isa, known, None, None)
    for name in (*known.macros, *known.values):
        answer = environments.table(name)
        assert answer is not None and None not in answer[0], name
        assert any(answer[0]), f"{name} is never defined"
