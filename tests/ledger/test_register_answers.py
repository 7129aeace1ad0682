"""What each party answers to the questions of the register, as one who reads what the parties say would answer.

Typed by entry, from `parties` and `witness`: by answer, who gives it.
"""

from __future__ import annotations

from ptxmma.ledger.contradictions import register

WATCHES = ("contradictions.yaml",)
CUTLASS, CUTE, TVM = "CUTLASS 7107b055", "nvidia-cutlass-dsl 4.8.1", "apache-tvm 0.27.0.post1"
JAX, TILELANG, PTXAS = "jax 0.10.2", "tilelang 0.1.15", "ptxas 13.5.37"
SHAPES, WORD, ZEROS, SMEM = "9.7.16.2.1", "9.7.16.4.2", "9.7.16.4.3", "9.7.16.4.1"
# By entry, for each question: by answer, the parties that give it.
ANSWERS: dict[str, list[dict[str, set[str]]]] = {
    "cutlass-m16n8k32-int4-b": [
        {
            "8": {"9.7.14.5.10"},
            "4": {"tensor-layouts 0.3.2, SM80_16x8x32_S32S4S4S32_TN"},
        }  # 8 rows a thread; 32 // 8
    ],
    "tvm-tcgen05-n-step-one-cta": [
        {"yes": {SHAPES, CUTLASS, CUTE, JAX}, "no": {TVM}},
        {"yes": {SHAPES, CUTE}, "no": {TVM, CUTLASS, TILELANG}},
        {"yes": {SHAPES, CUTLASS, "flashinfer-python 0.7.2.post1"}, "no": {TVM}},
    ],
    "tvm-tcgen05-n-step-two-ctas": [
        {"yes": {SHAPES, CUTLASS, CUTE}, "no": {TVM}},
        {"yes": {SHAPES, CUTE}, "no": {CUTLASS, TILELANG}},
    ],
    "cutlass-tcgen05-sparse-n-step": [{"yes": {SHAPES, CUTLASS}, "no": {CUTE}}] * 2,
    "cutlass-tcgen05-f8f6f4-sparse-n-step": [{"yes": {SHAPES}, "no": {CUTLASS}}],
    "cutlass-tcgen05-i8-n-24": [
        {"yes": {SHAPES, TVM}, "no": {CUTLASS, TILELANG, JAX}},
        {"yes": {SHAPES, CUTLASS}, "no": {JAX}},
    ],
    "cutlass-tcgen05-i8-n-40": [{"no": {SHAPES, CUTLASS}, "yes": {CUTE}}] * 2,
    "cutlass-tcgen05-mxf8f6f4-m-128": [{"yes": {SHAPES, CUTE, TVM}, "no": {CUTLASS}}],
    "text-tcgen05-k96-one-cta": [{"no": {"PTX ISA 9.1, 9.7.16.2.1"}, "yes": {CUTLASS, TVM}}],
    "cutlass-tcgen05-k96-n-step": [{"yes": {SHAPES, CUTE, TVM}, "no": {CUTLASS}}],
    "text-tcgen05-ti16-transpose": [{"no": {"PTX ISA 9.4, Table 51"}, "yes": {"PTX ISA 9.4, Table 62"}}],
    "text-tcgen05-small-transpose": [{"yes": {"PTX ISA 9.4, Table 62"}, "no": {"PTX ISA 9.4, Table 65"}}],
    "text-tcgen05-mxf8f6f4-k64-scales": [
        {"1": {"PTX ISA 9.4, Table 68"}, "2": {CUTE}}  # 64 elements, 32 a factor
    ],
    "text-tcgen05-k128-one-cta": [
        {"no": {"PTX ISA 9.4, Table 48"}, "yes": {"nvidia-cutlass-dsl 4.8.1"}}  # two CTAs; (128, 24) with one
    ],
    "cutlass-tcgen05-sparsity-version": [{"0": {"PTX ISA 9.4"}, "1": {"nvidia-cutlass-dsl 4.8.1"}}],
    "jax-tcgen05-scale-b-halves": [
        {"0 and 2": {"jax 0.10.2, the layout"}, "0 and 1": {"jax 0.10.2, the copy", "CUTLASS 7107b055"}}
    ],
    "text-tcgen05-sparse-k128": [{"yes": {"PTX ISA 9.4, Table 48"}, "no": {"PTX ISA 9.4, Table 51"}}],
    "text-zero-column-mask-spans": [
        {"4": {f"{ZEROS}, fields"}, "3": {f"{ZEROS}, examples", CUTLASS}}  # use span 3 + 1; skip span 2 + 1
    ],
    "cutlass-zero-column-mask-enable": [
        {"no": {ZEROS, f"{CUTLASS}, make_column_zero_mask"}, "yes": {f"{CUTLASS}, comment"}}
    ],
    "cutlass-zero-column-mask-use-span": [{"8": {ZEROS}, "7": {f"{CUTLASS}, comment"}}],  # 48 to 55; [48:55)
    "text-smem-descriptor-version": [{"3": {SMEM}, "2": {CUTLASS, TVM}}],
    "text-smem-descriptor-constant": [{"0xb00000000": {SMEM}, "0": {CUTLASS, TVM}}],
    "text-mxf4-b-type-bits": [{"2": {WORD}, "3": {CUTLASS, JAX}}],  # bits 10-11; 10-12
    "cutlass-block-scaled-sparse-id": [{"must be 0": {WORD}, "1": {CUTLASS}}],
    "cutlass-sparse-flag-mxf4": [
        {"yes": {WORD, f"{CUTLASS}, SM100_MMA_MXF4NVF4_SS_SPARSE"}, "no": {f"{CUTLASS}, comment"}}
    ],
    "text-scale-factor-id-k96": [{"no": {WORD}, "yes": {"9.7.16.10.7.2.4"}}],
    "text-block-alias-k96": [
        {"6": {"9.7.16.10.7.1, table"}, "4": {"9.7.16.10.7.1, alias of .scale_vec::4X"}}
    ],
    "text-tcgen05-metadata-0b0110": [
        {"7": {"9.7.16.10.8.2, the list"}, "6": {"9.7.16.10.8.2, two of four in order"}}
    ],
    "text-sparse-granularity-mxf4nvf4": [{"no": {"9.7.16.10.8"}, "4:8 in pairs": {"9.7.16.10.8.3"}}],
    "text-tcgen05-f8f8f4": [{"yes": {"9.7.16.10.8.2, list"}, "no": {PTXAS}}],
    "text-tcgen05-copy": [{"yes": {"9.7.16.6"}, "no": {PTXAS}}],
    "text-tcgen05-dealloc-2cta": [
        {
            "tcgen05.dealloc.2cta.sync.aligned": {"9.7.16.5"},
            "tcgen05.dealloc.cta_group::2.sync.aligned.b32": {"9.7.16.7.1"},
        }
    ],
    "text-tcgen05-collector-fill": [
        {".collector::a:fill": {"9.7.16.10.9.2, example"}, ".collector::a::fill": {PTXAS}}
    ],
    "text-tcgen05-example-block-scale": [
        {"no": {"9.7.16.10.9.1, example"}, "yes": {"9.7.16.10.9.1, syntax", PTXAS}}
    ],
    "asm-scale-vec-targets": [{"no": {"9.7.16.10.9.1"}, "yes": {PTXAS}}],
    "asm-block-scale-default-12-9": [{"yes": {"ptxas 12.8.93", PTXAS, "LLVM 22.1"}, "no": {"ptxas 12.9.86"}}],
    "text-layout-e-2x3": [{"3": {"9.7.16.10.5"}, "2": {CUTLASS, TVM}}],
    "tilelang-layout-c": [{"32": {"9.7.16.10.5.3", TVM}, "16, 48, 80 and 112": {TILELANG}}],
    "tvm-8-bit-transposed-b": [
        {"no": {"9.7.16.10.1", CUTE}, "yes": {TVM}},
        {"no": {"9.7.16.10.1"}, "yes": {CUTE}},
    ],
    "cutlass-sub-byte-transpose": [{"no": {"9.7.16.10.3", CUTLASS, TVM}, "yes": {CUTE}}],
    "jax-sparsity-selector": [{"yes": {WORD}, "no": {JAX}}],
    "tilelang-tf32-metadata-rows": [{"27": {TILELANG}, "15": {"H200"}}],  # 31 % 16 // 4 + 8*3 = 27; 7 + 8*1
    "cutlass-layout-c": [{"0": {"9.7.16.10.5", TVM}, "64": {CUTE}}],
}


def test_the_answers_are_those_of_what_the_parties_say() -> None:
    found: dict[str, list[dict[str, set[str]]]] = {}
    for name, entry in register().entries.items():
        for question in entry.questions:
            by_answer: dict[str, set[str]] = {}
            for party, answer in question.answers.items():
                by_answer.setdefault(answer, set()).add(party)
            found.setdefault(name, []).append(by_answer)
    assert found == ANSWERS
