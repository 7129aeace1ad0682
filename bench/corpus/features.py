"""Say which features of real PTX each kernel of the corpus has, and how many kernels have each.

python bench/corpus/features.py FOLDER… [--format text|markdown]

Reads the PTX with expressions of its own, not with the checker, so that it is independent of the checker.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ENTRY = re.compile(r"^[ \t]*(?:\.visible |\.weak |\.extern )*\.entry\s+([\w$.]+)", re.MULTILINE)
MULTIPLY = re.compile(
    r"wgmma\.mma_async(?P<sp>\.sp)?\.sync\.aligned\.m64n(?P<n>\d+)k\d+\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\s*"
    r"\{(?P<registers>[^}]*)\},\s*(?P<first>\{[^}]*\}|[%\w]+),\s*(?P<second>[%\w]+),\s*"
    r"(?P<rest>[^;]*);"
)


@dataclass(frozen=True)
class Body:
    """One kernel's text, and what several features look at."""

    name: str
    text: str
    lines: tuple[str, ...]

    @cached_property
    def multiplies(self) -> tuple[re.Match[str], ...]:
        """The statements wgmma.mma_async."""
        return tuple(MULTIPLY.finditer(self.text))

    def positions(self, word: str) -> list[int]:
        """The lines that hold a word."""
        return [index for index, line in enumerate(self.lines) if word in line]


def bodies(path: Path) -> Iterator[Body]:
    """The kernels of a file, comments removed."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    for found in ENTRY.finditer(text):
        start = text.index(
            "{", text.index(")", found.end()) if "(" in text[found.end() : found.end() + 4] else found.end()
        )
        depth = 0
        for brace in re.finditer(r"[{}]", text[start:]):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                body = text[start : start + brace.end()]
                yield Body(found.group(1), body, tuple(line.strip() for line in body.splitlines()))
                break


def has(expression: str) -> Callable[[Body], bool]:
    """Whether an expression is found."""
    compiled = re.compile(expression, re.MULTILINE)
    return lambda body: compiled.search(body.text) is not None


def multiply(test: Callable[[re.Match[str]], bool]) -> Callable[[Body], bool]:
    """Whether some wgmma.mma_async passes a test."""
    return lambda body: any(test(found) for found in body.multiplies)


def repeated_labels(body: Body) -> bool:
    """A label that stands in several scopes."""
    labels = re.findall(r"^([A-Za-z_$%][\w$]*):", "\n".join(body.lines), re.MULTILINE)
    return len(labels) > len(set(labels))


def backward(body: Body) -> list[tuple[int, int]]:
    """The line ranges that a branch to an earlier label closes."""
    labels: dict[str, int] = {}
    ranges = []
    for index, line in enumerate(body.lines):
        if found := re.match(r"([A-Za-z_$%][\w$]*):", line):
            labels[found.group(1)] = index
        if (found := re.search(r"\bbra(?:\.uni)?\s+([\w$%]+)\s*;", line)) and found.group(1) in labels:
            ranges.append((labels[found.group(1)], index))
    return ranges


def spin(body: Body) -> bool:
    """A loop of a few lines around a test of a barrier."""
    return any(
        end - start < 12 and "_wait" in "\n".join(body.lines[start:end]) for start, end in backward(body)
    ) or bool(re.search(r"mbarrier\.try_wait[^;]*;\s*@\S+ bra[^;]*;\s*bra", body.text))


def unrolled(body: Body) -> bool:
    """A loop that holds at least two statements wgmma.mma_async on one accumulator."""
    at = body.positions("wgmma.mma_async")
    return any(sum(start < index < end for index in at) >= 2 for start, end in backward(body))


def ordered(body: Body) -> list[tuple[int, str]]:
    """The wgmma statements, labels and branches in the order of the text."""
    kinds = (
        ("wgmma.fence", "fence"),
        ("wgmma.mma_async", "mma"),
        ("wgmma.commit_group", "commit"),
        ("wgmma.wait_group", "wait"),
    )
    events = []
    for index, line in enumerate(body.lines):
        kind = next((kind for word, kind in kinds if word in line), None)
        if kind:
            events.append((index, kind))
        elif re.match(r"[\w$%]+:", line) or re.search(r"\bbra\b", line):
            events.append((index, "block"))
    return events


def across_blocks(body: Body) -> bool:
    """A label or branch between a commit and the next wait in the text."""
    pending = crossed = False
    for _, kind in ordered(body):
        if kind == "commit":
            pending, crossed = True, False
        elif kind == "block" and pending:
            crossed = True
        elif kind == "wait" and pending:
            if crossed:
                return True
            pending = False
    return False


def fence_in_flight(body: Body) -> bool:
    """A wgmma.fence between a commit and the next wait in the text."""
    pending = False
    for _, kind in ordered(body):
        if kind == "fence" and pending:
            return True
        pending = kind == "commit" or (pending and kind != "wait")
    return False


def between(body: Body, expression: str) -> bool:
    """A statement that matches, between a fence and the next multiply."""
    fenced = False
    for line in body.lines:
        if "wgmma.fence" in line:
            fenced = True
        elif "wgmma.mma_async" in line:
            fenced = False
        elif fenced and re.search(expression, line):
            return True
    return False


def copied(body: Body) -> bool:
    """A move from an accumulator to another register."""
    accumulators = {name.strip() for found in body.multiplies for name in found["registers"].split(",")}
    moves = re.findall(r"\bmov\.[bfsu](?:16|32|64)\s+\S+\s*,\s*(%\w+)\s*;", body.text)
    return any(name in accumulators for name in moves)


def coalesced(body: Body) -> bool:
    """An A register with several definitions."""
    fragments = {
        name.strip()
        for found in body.multiplies
        if found["first"].startswith("{")
        for name in found["first"].strip("{}").split(",")
    }
    first = re.findall(r"\b(?!st|red|wgmma|mbarrier)[a-z][\w.:]*\s+(\{[^}]*\}|%\w+)\s*,", body.text)
    defined = [name.strip() for operand in first for name in operand.strip("{}").split(",")]
    return any(defined.count(name) > 1 for name in fragments)


def scoped(body: Body) -> bool:
    """A scope inside the body."""
    return bool(re.search(r"^\s*\{\s*$|\{[^}]*\.reg", body.text[1:], re.MULTILINE))


def literal(found: re.Match[str]) -> bool:
    """Whether scale-d is a number."""
    operands = found["rest"].split(",")
    return operands[2 if found["sp"] else 0].strip().isdigit()


def roles(body: Body) -> bool:
    """Warps that part ways: registers handed over, or named barriers beside an mbarrier."""
    named = re.search(r"barrier\.sync|bar\.sync\s+[%1-9]", body.text)
    return "wgmma" in body.text and ("setmaxnreg" in body.text or bool(named and "mbarrier" in body.text))


FEATURES: tuple[tuple[str, Callable[[Body], bool]], ...] = (
    ("nested scopes and inline-asm braces", scoped),
    ("labels that repeat in their scopes", repeated_labels),
    ("predicated statements", has(r"^\s*@!?%?\w+\s+(?!bra)")),
    ("loops", lambda body: bool(backward(body))),
    ("spin loops on a barrier", spin),
    ("unrolled loop bodies", unrolled),
    ("128 accumulator registers", multiply(lambda found: found["registers"].count(",") == 127)),
    ("copies of accumulators", copied),
    ("A registers defined more than once", coalesced),
    (
        "constants set between fence and use",
        lambda body: between(body, r"^mov\.\w+\s+%\w+\s*,\s*(?:0[fFdDxX]?|-?\d)"),
    ),
    ("scale-d a predicate", multiply(lambda found: not literal(found))),
    ("scale-d a literal", multiply(literal)),
    ("descriptors computed at run time", multiply(lambda found: found["second"].startswith("%"))),
    ("wait_group N > 0", has(r"wgmma\.wait_group\.sync\.aligned\s+[1-9]")),
    ("groups in flight across blocks", across_blocks),
    ("a fence while groups are in flight", fence_in_flight),
    ("warp-specialised branches", roles),
    ("A in registers", multiply(lambda found: found["first"].startswith("{"))),
    ("wgmma, f16", multiply(lambda found: found["a"] == "f16")),
    ("wgmma, bf16", multiply(lambda found: found["a"] == "bf16")),
    ("wgmma, tf32", multiply(lambda found: found["a"] == "tf32")),
    ("wgmma, e4m3 or e5m2", multiply(lambda found: found["a"] in ("e4m3", "e5m2"))),
    ("wgmma, s8 or u8", multiply(lambda found: found["a"] in ("s8", "u8"))),
    ("wgmma with f16 accumulators", multiply(lambda found: found["d"] == "f16")),
    ("sparse wgmma or mma", has(r"wgmma\.mma_async\.sp|mma\.sp")),
    ("mma.sync", has(r"\bmma\.sync")),
    ("wmma", has(r"\bwmma\.mma")),
    ("ldmatrix", has(r"\bldmatrix")),
    ("stmatrix", has(r"\bstmatrix")),
    ("cp.async", has(r"\bcp\.async\.c[ag]")),
    ("bulk copies", has(r"\bcp\.async\.bulk\.(?:tensor|shared)")),
    ("mbarrier", has(r"\bmbarrier\.")),
    ("fence.proxy.async", has(r"\bfence\.proxy\.async")),
    ("setmaxnreg", has(r"\bsetmaxnreg")),
)


def table(folders: list[Path]) -> dict[tuple[str, str], list[bool]]:
    """Feature by feature, for every kernel of every file."""
    found: dict[tuple[str, str], list[bool]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.ptx")) if folder.is_dir() else [folder]:
            for body in bodies(path):
                if re.search(r"\bw?g?mma\b|mma\.|wmma\.", body.text):
                    found[path.stem, body.name] = [test(body) for _, test in FEATURES]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    arguments = parser.parse_args()
    kernels = table(arguments.folders)
    if arguments.format == "text":
        for index, (name, _) in enumerate(FEATURES):
            print(f"{sum(row[index] for row in kernels.values()):5}  {name}")
        print(f"{len(kernels):5}  kernels in {len({file for file, _ in kernels})} files")
        return
    print("# Features of the kernels\n\nWritten by `bench/corpus/features.py tests/kernels`.\n")
    print("| | Feature | Kernels |\n|---|---|---|")
    for index, (name, _) in enumerate(FEATURES):
        print(f"| {index + 1} | {name} | {sum(row[index] for row in kernels.values())} |")
    print(f"\n{len(kernels)} kernels. One row a kernel, one column a feature of the list above.\n")
    print("| File | Kernel | " + " | ".join(str(index + 1) for index in range(len(FEATURES))) + " |")
    print("|---|---|" + "---|" * len(FEATURES))
    for (file, name), row in kernels.items():
        short = name if len(name) < 40 else name[:36] + "…"
        print(f"| {file} | {short} | " + " | ".join("x" if value else "" for value in row) + " |")


if __name__ == "__main__":
    main()
