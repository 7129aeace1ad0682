"""The commands: what each is for, examples of it, and what its exit codes mean.

The options of a command are declared by its module (`add`), which is imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..spec.lazy_dataclass import dataclass

__all__ = ["COMMANDS", "Command", "Example"]


@dataclass(frozen=True)
class Example:
    """A command line that works as it is written, and what it needs beyond a plain install."""

    words: str
    needs: str = ""


@dataclass(frozen=True)
class Command:
    """One command: a line of help, examples, and what the exit codes 0, 1 and 2 mean (empty: it has none)."""

    help: str
    examples: tuple[Example, ...]
    holds: str
    fails: str
    refuses: str


_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"
_FP8 = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
_PTXAS = "ptxas: `ptxmma toolchain fetch`"
_NETWORK = "the network"
_GPU = "a GPU"

# The name of a command is the name of its module: `list` is cli/list_command.py.
COMMANDS: Mapping[str, Command] = {
    "list": Command(
        "which variants exist: one line a mnemonic",
        (
            Example("ptxmma list 'wgmma.mma_async.sp.*m64n8k16*'"),
            Example("ptxmma list mma --ptx 7.0 --target sm_80 --format json"),
        ),
        "the list is printed",
        "nothing matches",
        "the version or the target is not known",
    ),
    "show": Command(
        "one variant: operands, gates, contracts, layouts",
        (Example(f"ptxmma show {_MMA}"), Example(f"ptxmma show {_FP8} --latex")),
        "the variant is shown",
        "",
        "no variant has this name, or with --latex: its arithmetic is not known",
    ),
    "legal": Command(
        "is this statement legal, and since when",
        (
            Example("ptxmma legal 'wgmma.fence.sync.aligned;' --ptx 8.0 --target sm_90a"),
            Example("ptxmma legal --batch statements.txt"),
        ),
        "every statement is legal",
        "a statement is illegal",
        "the version, the target or the instruction is not known, or a file is unreadable or empty",
    ),
    "layout": Command(
        "which thread's register holds which element",
        (
            Example(f"ptxmma layout {_MMA} --operand A --row 9 --col 3"),
            Example(f"ptxmma layout {_MMA} --operand D --format cuda"),
            Example("ptxmma layout tcgen05.d.F --with n=64 --lane 37 --column 5"),
        ),
        "the layout or the answer is printed",
        "",
        "there is no such variant, operand, thread or element",
    ),
    "explain": Command(
        "one element of D step by step, as a chip computes it",
        (
            Example(f"ptxmma explain {_MMA} --a 1,0x1p-14 --b 1,0x1p-12 --c -1"),
            Example(f"ptxmma explain {_FP8} --a '448*16' --b '448*16' --c 0x1p-9 --format json"),
        ),
        "the steps are printed",
        "",
        "there is no such variant or element, or the arithmetic is not known",
    ),
    "numerics": Command(
        "what sums keep, round and lose on a chip, for all types",
        (
            Example("ptxmma numerics wgmma.mma_async"),
            Example(f"ptxmma numerics {_MMA} --format json"),
        ),
        "the table is printed",
        "",
        "nothing matches, the target is not known, or the arithmetic is not known",
    ),
    "compute": Command(
        "D = A*B + C of matrices in files, as a chip computes it",
        (
            Example(f"ptxmma compute {_MMA} A.npy B.npy --out D.npy"),
            Example(f"ptxmma compute {_SPARSE} packed.npy B.npy --metadata metadata.npy --selector 0"),
        ),
        "the matrix is written",
        "",
        "shapes or types do not fit, a file cannot be read or written, or the arithmetic is not known",
    ),
    "compress": Command(
        "a sparse matrix to packed A and metadata words",
        (Example(f"ptxmma compress {_SPARSE} matrix.npy"),),
        "both files are written",
        "",
        "the matrix does not have the sparsity, or a file cannot be read or written",
    ),
    "decompress": Command(
        "packed A and metadata words to the full matrix",
        (Example(f"ptxmma decompress {_SPARSE} packed.npy metadata.npy"),),
        "the matrix is written",
        "",
        "the metadata has a code that is not valid, or a file cannot be read or written",
    ),
    "descriptor": Command(
        "encode or decode a descriptor",
        (
            Example("ptxmma descriptor encode start-address=1024 stride-dimension-byte-offset=1024"),
            Example("ptxmma descriptor address 0x4000004000000040 --row 9 --k 3"),
            Example("ptxmma descriptor decode --kind tcgen05.f16 0x08200490 cta_group=1 ws=0 sp=0"),
        ),
        "the word, the fields or the address is printed",
        "the word is not legal",
        "a field or a value is not one of a descriptor, or fields to encode do not go together",
    ),
    "check": Command(
        "are the kernels of a PTX file (or inline assembly) right",
        (
            Example("ptxmma check kernel.ptx --write-baseline baseline.json"),
            Example("ptxmma check '**/*.ptx' --format sarif"),
            Example("ptxmma check --cuda source.cu --target sm_90a"),
        ),
        "nothing was found that fails",
        "a finding of the tier error or likely; with --strict also reading",
        "a file could not be read (the others are checked), or an option is wrong",
    ),
    "prove": Command(
        "prove the specification consistent",
        (
            Example("ptxmma prove"),
            Example("ptxmma prove 'layout mma.m16n8k16*' --solver z3"),
            Example("ptxmma prove --list"),
        ),
        "everything is proven",
        "something is refuted or unknown",
        "nothing matches, or a file cannot be written",
    ),
    "gen": Command(
        "a conformance suite: PTX, CUDA, host program, manifest",
        (Example("ptxmma gen movmatrix --out suite"),),
        "the suite is written",
        "",
        "nothing matches, or the folder is not empty or cannot be written",
    ),
    "run": Command(
        "run a conformance suite on a GPU, and measure it",
        (
            Example("ptxmma run movmatrix", _GPU),
            Example("ptxmma run suite --via stand-in", "a C++ compiler"),
            Example(f"ptxmma run --arithmetic {_MMA} --count 1e9", _GPU),
        ),
        "every case passes, everything measured is as specified, no sum differs",
        "a case fails, or something measured or a sum differs",
        "there is no GPU, compiler or suite",
    ),
    "litmus": Command(
        "ordering tests: small programs and their verdicts",
        (
            Example("ptxmma litmus"),
            Example("ptxmma litmus --switches"),
            Example("ptxmma litmus --emit tests"),
        ),
        "every verdict is as expected, and both models agree",
        "a verdict is not as expected, or the models disagree",
        "no test matches, or a file cannot be written",
    ),
    "ordering": Command(
        "do the two models of the ordering rules agree?",
        (
            Example("ptxmma ordering default --steps 3 --direct 1 --stride 50 --length 0"),
            Example("ptxmma ordering --alphabet"),
        ),
        "the models agree",
        "the models disagree",
        "a reading is not known, or a bound is out of range",
    ),
    "assemble": Command(
        "does this assembler agree with the specification",
        (
            Example("ptxmma assemble movmatrix", _PTXAS),
            Example("ptxmma assemble wgmma.mma_async --release 12.4 12.8", _PTXAS),
        ),
        "they agree, but for what is registered as a contradiction",
        "they disagree",
        "there is no such release, or nothing could be asked",
    ),
    "clauses": Command(
        "every contract clause and its consumers",
        (Example("ptxmma clauses"),),
        "every clause has a consumer",
        "a clause has none",
        "",
    ),
    "toolchain": Command(
        "releases of ptxas: list or fetch them",
        (
            Example("ptxmma toolchain list"),
            Example("ptxmma toolchain fetch 12.4", _NETWORK),
        ),
        "the releases are listed, or are on this machine now",
        "",
        "a release is not known, or could not be fetched",
    ),
    "contradictions": Command(
        "where text, assemblers, silicon and others disagree",
        (
            Example("ptxmma contradictions"),
            Example("ptxmma contradictions --run", _PTXAS),
        ),
        "the entries are printed; with --run, each still shows",
        "with --run: an entry no longer shows",
        "there is no such entry",
    ),
    "evidence": Command(
        "which claims have which witnesses, and what is stale",
        (
            Example("ptxmma evidence movmatrix"),
            Example("ptxmma evidence --arithmetic"),
            Example("ptxmma evidence --again 12.4", _PTXAS),
        ),
        "every claim has its witnesses, and none contradicts it",
        "a claim is stale or unseen, or a witness contradicts it",
        "there is no such claim or record",
    ),
    "diff": Command(
        "what changed between two PTX versions, or two specifications",
        (
            Example("ptxmma diff 8.3 8.4"),
            Example("ptxmma diff 9.0 9.1 mma --target sm_120a --format markdown"),
        ),
        "the differences are printed",
        "with --exit-code: there are differences",
        "a version, a target or a specification is not known",
    ),
    "atlas": Command(
        "the specification as a static site",
        (
            Example("ptxmma atlas --out site"),
            Example("ptxmma atlas --serve", "a browser"),
        ),
        "the site is written",
        "",
        "the folder holds something else or cannot be written, or the port is taken",
    ),
    "lsp": Command(
        "a language server, which an editor starts",
        (Example("ptxmma lsp", "an editor that starts it, and pygls"),),
        "the editor has said goodbye",
        "",
        "the package pygls is missing",
    ),
    "schema": Command(
        "the JSON Schemas of the YAML files and of the answers",
        (
            Example("ptxmma schema"),
            Example("ptxmma schema --answers legal"),
            Example("ptxmma schema --write ."),
        ),
        "the schema is printed or written",
        "",
        "there is no schema of that name, or a file cannot be written",
    ),
    "completion": Command(
        "the script by which a shell completes commands and options",
        (
            Example("ptxmma completion bash > ~/.local/share/bash-completion/completions/ptxmma"),
            Example("ptxmma completion zsh > ~/.zfunc/_ptxmma"),
        ),
        "the script is printed",
        "",
        "the shell is not one of these",
    ),
}
