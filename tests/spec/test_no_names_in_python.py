"""Code names no instruction, operand, shape, element type or descriptor: it asks the YAML (docs/yaml.md).

Every string of the package is looked at, docstrings and examples excepted. A name of more than two characters
may not occur in one as a whole word; a shorter one (`d`, `sp` …) may not be a key, an index, a member of a
comparison or what a method is asked for, where it would mean the operand. Half of a name with a hyphen
(`-desc`) may not be put together with the other half.

gen/litmus emits tests of particular instructions, formal/ordering models them, and bench/ and tests/ check
the package from outside: they may name what they are about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import pytest

from ptxmma.spec.loading import PACKAGE
from ptxmma.spec.model import Part
from ptxmma.spec.specification import Specification

OUTSIDE = ("tests", "bench", "gen/litmus", "formal/ordering", ".", "build", "dist")
SHAPE = re.compile(r"\bm\d+n\d+(k\d+)?\b")
SHORT = 2  # characters of a name that only counts where it stands alone

# What may stand all the same: by file or folder, the words and why.
ALLOWED: dict[str, tuple[set[str], str]] = {
    "api.py": (
        {"idesc", "a", "b", "c"},
        "the keyword for the word of an instruction descriptor; the arguments of explain",
    ),
    "assemblers/": (
        {"b8", "u8", "s8", "b16", "f16", "s32", "f32", "f64"},
        "PTX register types, which every probe declares; they are spelled like element types",
    ),
    "atlas/layout_data.py": ({"c"}, "the key for the text of formulas in C"),
    "atlas/legality_data.py": ({"a"}, "the key for Form.a"),
    "atlas/sections/arithmetic.py": (
        {"a", "b", "c"},
        "the fields of the page, as `explain` names its options",
    ),
    "check/advice.py": ({"wgmma.fence"}, "what ptxas does about a missing fence, told to a person"),
    "check/cuda/environments.py": ({"a", "f"}, "the letters behind the numbers of targets"),
    "check/cuda/tokens.py": ({"u8", "a", "b", "f", "r"}, "prefixes of strings and escapes of C++"),
    "check/registers/": (
        {"wgmma", "wgmma.fence", "wgmma.wait_group"},
        "messages on the ordering rules, which are those of wgmma (spec/ordering/)",
    ),
    "check/values/": ({"f", "s32"}, "types of PTX's arithmetic instructions"),
    "check/walks/": (
        {"mma", "fence.proxy.async"},
        "a kind of act (a product), and a message on the ordering rules",
    ),
    "formal/theorems/exactness.py": ({"a", "b", "c"}, "variables of the solver"),
    "cli/commands.py": (
        {"m16n8k16", "m64n16k32", "m64n8k16", "m64n8k32", "mma", "movmatrix"}
        | {"wgmma.fence", "wgmma.mma_async", "wgmma.mma_async.sp", "tcgen05.f16"},
        "the examples of every --help, which a test runs",
    ),
    "cli/layout_command.py": ({"idesc"}, "the option for the word of an instruction descriptor"),
    "cli/legal_command.py": ({"idesc"}, "the option for the word of an instruction descriptor"),
    "cli/list_command.py": ({"a"}, "the JSON field of Form.a"),
    "cli/show_command.py": ({"a"}, "the JSON field of Form.a"),
}


@dataclass(frozen=True)
class Vocabulary:
    """Names that only the YAML may know: those that are looked for as words, and short ones."""

    words: frozenset[str]
    short: frozenset[str]
    halves: frozenset[str]

    @classmethod
    def of(cls, specification: Specification) -> Vocabulary:
        instructions = specification.instructions.values()
        names = {name for i in instructions for name in (i.instruction, i.name)}
        operands = {name for i in instructions for name in i.operands} - set(get_args(Part))
        fields = {field for f in specification.families.values() for view in f.rows for field in view.domains}
        names |= operands | set(specification.index.types) | set(specification.descriptors)
        halves = {half for name in operands for half in re.findall(r"(?<=\w)-\w{3,}$", name)}
        return cls(
            frozenset(name for name in names if len(name) > SHORT or name in specification.index.types),
            frozenset(name for name in operands - fields if len(name) <= SHORT),
            frozenset(halves),
        )

    def found(self, text: str) -> Iterator[str]:
        """The names, and the shapes, that stand in a text as whole words."""
        words = "|".join(sorted(map(re.escape, self.words), key=len, reverse=True))
        for match in re.finditer(rf"(?<![\w.<-])(?:{words})(?![\w-])", text):
            yield match[0]
        for match in SHAPE.finditer(text):
            yield match[0]


def modules() -> list[str]:
    found = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(name for name in found if not name.startswith(OUTSIDE))


def faults(source: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """The line and the name of everything in a module's strings that only the YAML may know."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        parent = parents[node]
        if isinstance(parent, ast.Expr):  # documentation
            continue
        for name in vocabulary.found(node.value):
            yield node.lineno, name
        if node.value in vocabulary.short and means_an_operand(node, parents):
            yield node.lineno, node.value
        if isinstance(parent, ast.JoinedStr) and node.value in vocabulary.halves:
            yield node.lineno, node.value


def means_an_operand(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a string is a key, an index, compared, or what a method is asked for."""
    parent = parents[node]
    while isinstance(parent, ast.Tuple | ast.List | ast.Set):
        node, parent = parent, parents[parent]
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Attribute) and parent.func.attr in ("get", "index", "place", "pop")
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    return isinstance(parent, ast.Subscript | ast.Compare)


@pytest.fixture(scope="module")
def vocabulary(specification: Specification) -> Vocabulary:
    return Vocabulary.of(specification)


def test_the_vocabulary_is_that_of_the_yaml(vocabulary: Vocabulary) -> None:
    assert {
        "wgmma.mma_async",
        "ldmatrix",
        "mma",
        "sp-meta",
        "b-desc",
        "f16",
        "e4m3",
        "wgmma",
    } <= vocabulary.words
    assert {"d", "e", "f", "p", "r"} <= vocabulary.short
    assert "-desc" in vocabulary.halves
    assert not {"scale-d", "metadata", "stride"} & (vocabulary.words | vocabulary.short)  # parts


def test_every_folder_is_looked_at() -> None:
    folders = {name.split("/")[0] for name in modules() if "/" in name}
    assert {"spec", "formal", "gen", "check", "devices", "assemblers", "ledger", "audit", "cli"} <= folders


@pytest.mark.parametrize("module", modules())
def test_no_names(module: str, vocabulary: Vocabulary) -> None:
    allowed = {name for place, (names, _) in ALLOWED.items() if module.startswith(place) for name in names}
    found = faults((PACKAGE / module).read_text(encoding="utf-8"), vocabulary)
    assert [fault for fault in found if fault[1] not in allowed] == []


@pytest.mark.parametrize("place", ALLOWED)
def test_an_allowance_is_needed(place: str, vocabulary: Vocabulary) -> None:
    names, why = ALLOWED[place]
    texts = [
        (PACKAGE / module).read_text(encoding="utf-8") for module in modules() if module.startswith(place)
    ]
    assert why and names <= {name for text in texts for _, name in faults(text, vocabulary)}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('specification.descriptors["wgmma"]', ["wgmma"]),
        ('next(n for n in ("sp-meta", "e") if n in sources)', ["sp-meta"]),
        ('word.startswith(("sp-sel=", "f="))', ["sp-sel"]),
        ('"b-desc" in operands', ["b-desc"]),
        ('name == "movmatrix"', ["movmatrix"]),
        ('operands["d"]', ["d"]),
        ('if name in ("a", "b"): pass', ["a", "b"]),
        ('operands.get("r")', ["r"]),
        ('found = {"f": 1}', ["f"]),
        ('name = f"{part}-desc"', ["-desc"]),
        ('print("use wmma.mma on m16n8k16")', ["wmma.mma", "m16n8k16"]),
        ('views = {"f32": 4}', ["f32"]),
        ('"""The operand b-desc of wgmma.mma_async."""', []),
        ('print("a", "d")', []),
        ('np.dtype("<u4")', []),
        ('operand.part == "scale-d" or part in ("A", "metadata")', []),
    ],
)
def test_what_counts_as_a_name(source: str, names: list[str], vocabulary: Vocabulary) -> None:
    assert [name for _, name in faults(source, vocabulary)] == names
