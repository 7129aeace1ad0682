"""The Python API: what a compiler, a test or a notebook imports as `import ptxmma`.

Few functions, each the answer to one question, in the argument order of the command line. A mistake in the
arguments raises Question, wrong YAML raises SpecError, and both are PtxmmaError.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .spec import api as shared
from .spec.arguments import asked, described, integer, target_name, text, version_number
from .spec.errors import Question
from .spec.lazy_dataclass import dataclass
from .spec.legality import Verdict
from .spec.nodes import nearest
from .spec.quantities import counted
from .spec.specification import Specification
from .spec.variants import Variant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .audit.version_differences import Change
    from .check.check_file import FileReport
    from .gen.arithmetic.explanation_text import ExplainedElement
    from .gen.arithmetic.type_sets import SumKind
    from .gen.pictures.grid import Grid
    from .gen.pictures.places import Load
    from .gen.pictures.tables import MapTable
    from .gen.sparse_arrays import SparseA

__all__ = [
    "Holder",
    "MatrixDescriptor",
    "OperandLayout",
    "SparseMatrix",
    "check",
    "compress",
    "decompress",
    "descriptor",
    "diff",
    "dot",
    "explain",
    "layout",
    "legal",
    "load",
    "matmul",
    "numerics",
    "variants",
]


@asked
def load() -> Specification:
    """The whole specification as a typed, frozen model. Raises SpecError when the YAML is wrong.

    >>> "movmatrix" in ptxmma.load().instructions
    True
    """
    return shared.load()


@asked
def variants(
    pattern: str | None = None, ptx: str | None = None, target: str | None = None
) -> tuple[Variant, ...]:
    """Every variant that matches, in the order of the specification.

    `pattern` is a mnemonic, a part of one, or a pattern with `*`; None means all. `ptx` ("8.3") and
    `target` ("sm_90a") leave those that are legal there. A variant has `mnemonic`, `gate`, `fields`
    and `forms`. Raises Question for an unknown version or target.

    >>> ptxmma.variants("wgmma.mma_async.sp.*m64n8k16*", ptx="8.3", target="sm_90a")
    (Variant(wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32),)
    """
    from .gen.variant_table import VariantTable
    from .spec.selection import select

    return VariantTable(select(load(), _pattern(pattern), _version(ptx), _target(target)))


@asked
def legal(
    statement: str, ptx: str | None = None, target: str | None = None, *, idesc: int | None = None
) -> Verdict:
    """Is one PTX statement legal for a PTX ISA version (None: the newest) and a target (None: any)?

    Register declarations may stand before the statement. The verdict is true if it is legal; its
    `verdict` is "legal", "illegal" (with every reason) or "unknown" (the specification does not hold
    the instruction). `idesc` is the word of the instruction descriptor that the statement takes; without
    it the descriptor is not judged. Raises Question for an unknown version or target, and for an `idesc`
    where the statement takes none.

    >>> verdict = ptxmma.legal("wgmma.fence.sync.aligned;", ptx="8.0", target="sm_80")
    >>> bool(verdict), verdict.reasons[0].message
    (False, 'not on sm_80; it needs one of sm_90a')
    """
    given, version, name = text("statement", statement), _version(ptx), _target(target)
    if idesc is None:
        return shared.legal(given, version, name)
    from .spec.described_operands import judge_with_word

    return judge_with_word(load(), shared.judge(version, name), given, integer("idesc", idesc))[0]


@dataclass(frozen=True)
class Holder:
    """Who holds a matrix element: the thread, its element, the register, the lowest bit there, the bits."""

    thread: int
    element: int
    register: int
    bit: int
    width: int

    def __str__(self) -> str:
        return (
            f"thread {self.thread}, element {self.element} "
            f"(register {self.register}, bits {self.bit}..{self.bit + self.width - 1})"
        )


class OperandLayout:
    """Which thread's register element holds which matrix element, for one operand of one mnemonic."""

    def __init__(self, table: MapTable) -> None:
        self._table = table

    @property
    def mnemonic(self) -> str:
        """The mnemonic, spelled canonically."""
        variant = self._table.variant
        return variant.mnemonic if variant is not None else self._table.operand

    @property
    def operand(self) -> str:
        """The operand, as it was asked for."""
        return self._table.operand

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers of a point are: ("thread", "element", "row", "col") for a fragment."""
        layout, fragment = self._table.layout, self._table.packing is not None
        if self._placed:
            from .gen.pictures.places import place_names

            return place_names(layout)
        return ("thread", *(("element",) if fragment else layout.inputs[1:]), *layout.outputs)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the matrix: (rows, columns) for a fragment."""
        return tuple(self._table.layout.shape(self._table.parameters).values())

    @property
    def id(self) -> str:
        """The layout's name, as `ptxmma layout` takes it and peers are recorded for it."""
        return self._table.layout.layout.id

    @property
    def parameters(self) -> dict[str, int]:
        """The values of the layout's parameters: n, half, …"""
        return dict(self._table.parameters)

    @property
    def _placed(self) -> bool:
        from .gen.pictures.places import in_places

        return in_places(self._table.layout)

    @property
    def threads(self) -> int:
        """How many threads hold the operand: those of a warp or of a warpgroup; 0 in tensor memory."""
        return self._table.threads if "t" in self._table.layout.inputs else 0

    def points(self) -> list[tuple[int, ...]]:
        """Every point of the map, as `names` says: (thread, element, row, col) for a fragment."""
        return self._table.layout.points(self._table.parameters)

    @asked
    def where(self, **numbers: int) -> list[tuple[int, ...]]:
        """The points with some numbers, by their `names`: of D in tensor memory where(lane=3, column=5).

        Raises Question for a name that a point does not have, and where no point has these numbers.
        """
        names = self.names
        unknown = next((name for name in numbers if name not in names), None)
        if unknown is not None:
            raise Question(f"{self!r} has no {unknown}; ask by {', '.join(names)}")
        wanted = [(names.index(name), integer(name, number)) for name, number in numbers.items()]
        found = [point for point in self.points() if all(point[i] == number for i, number in wanted)]
        if not found:
            said = ", ".join(f"{name} {number}" for name, number in numbers.items())
            raise Question(f"{said} takes no part in {self!r}")
        return found

    @asked
    def loads(self, row: int, col: int) -> list[Load]:
        """Which loads bring an element that lies in tensor memory to which thread's register.

        Raises Question for a layout of registers, or of what has no rows and columns, and outside the matrix.
        """
        from .gen.pictures.places import PLACE, loads

        inputs = self._table.layout.inputs
        if not {*PLACE} <= {*inputs}:
            raise Question(f"{self!r} does not lie in tensor memory")
        points = self.where(row=row, col=col)
        lane, column = (points[0][inputs.index(name)] for name in PLACE)
        return list(loads(load(), lane, column))

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {(thread, element): tuple(place) for thread, element, *place in self.points()}

    @cached_property
    def _holders(self) -> dict[tuple[int, ...], tuple[int, int, int, int]]:
        """Thread, element, register and lowest bit by position; of a fragment only."""
        return {
            tuple(place): (thread, element, register, bit)
            for thread, element, register, bit, *place in self._table.entries
        }

    @asked
    def position(self, thread: int, element: int) -> tuple[int, ...]:
        """Where a thread's element lies: (row, col). Raises Question when there is no such element.

        In tensor memory no thread holds anything; see `where`.
        """
        if "t" not in self._table.layout.inputs:
            raise Question(f"{self!r} has no thread; ask where({', '.join(self.names[:2])})")
        found = self._places.get((integer("thread", thread), integer("element", element)))
        if found is None:
            names = [*self._table.headings[: len(self._table.layout.inputs)]]
            sizes = self._table.layout.domain(self._table.parameters).values()
            ranges = ", ".join(f"{name} 0..{size - 1}" for name, size in zip(names, sizes, strict=True))
            raise Question(f"{self!r} has no element {element} of thread {thread}; it has {ranges}")
        return found

    @asked
    def holder(self, *place: int) -> Holder:
        """Who holds the element at (row, col). Raises Question outside the matrix."""
        packing = self._table.packing
        if packing is None and self._placed:
            raise Question(f"{self!r} is not a fragment; ask where({', '.join(self.names[-2:])})")
        if packing is None:
            raise Question(f"{self!r} is not a fragment; its points name threads and bits")
        names = self._table.layout.outputs
        if len(place) != len(names):
            raise Question(
                f"{self!r} is asked by {' and '.join(names)}, not by {counted(len(place), 'value')}"
            )
        at = tuple(integer(name, number) for name, number in zip(names, place, strict=True))
        found = self._holders.get(at)
        if found is None:
            ranges = ", ".join(f"{name} 0..{size - 1}" for name, size in zip(names, self.shape, strict=True))
            raise Question(f"{self!r} has no element at {at}; it has {ranges}")
        return Holder(*found, packing.width)

    @asked
    def text(self, width: int = 120) -> str:
        """The figure as text, at most `width` characters wide."""
        from .gen.pictures import text as pictures

        return pictures.text(self._grid(), integer("width", width), coloured=False)

    def svg(self) -> str:
        """The figure as SVG."""
        from .gen.pictures.svg import svg

        return svg(self._grid())

    def _repr_svg_(self) -> str:
        """What a notebook shows that takes pictures alone."""
        return self.svg()

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, which may be wider than the page."""
        from .spec.html import scrolled

        return scrolled(self.svg())

    def _grid(self) -> Grid:
        from .gen.pictures.grid import grid_of
        from .gen.pictures.places import place_grid

        return place_grid(self._table) if self._placed else grid_of(self._table)

    def cuda(self) -> str:
        """Index functions in CUDA C++, forward and inverse."""
        from .gen.pictures import functions

        return functions.cuda(self._table)

    def python(self) -> str:
        """Index functions in Python, forward and inverse."""
        from .gen.pictures import functions

        return functions.python(self._table)

    def cute(self) -> str:
        """The map as a CuTe layout; raises Question where no CuTe layout says it."""
        from .gen.pictures.cute import cute

        return cute(self._table)

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.shape))
        threads = f", {self.threads} threads" if self.threads else ""
        return f"OperandLayout({self._table.title}: {sizes}{threads})"


@asked
def layout(mnemonic: str, operand: str, **selectors: int) -> OperandLayout:
    """The layout of an operand (9.7.14, 9.7.15): A, B, C, D, metadata, scale factors, or row addresses.

    `selectors` are those of the command line, with underscores: selector=1 for metadata,
    thread_id and byte_id for scale factors. For a product in tensor memory (9.7.16.10) idesc= is its
    instruction descriptor, or m=, n= and k= are what that would say; half= is the half of each warp's lanes
    that a data path of 16 lanes uses. One that matters and is missing raises Question, as do an unknown
    mnemonic or operand, and a fragment whose layout the text leaves open (wmma).

    >>> layout = ptxmma.layout("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "A")
    >>> layout.position(5, 3), layout.holder(9, 3)
    ((9, 3), Holder(thread=5, element=3, register=1, bit=16, width=16))
    """
    from .gen.pictures.tables import said, table_of
    from .spec.described_products import placed_part
    from .spec.parts import named_operand, stated_parameters

    specification = load()
    if shared.judge().variant_of(text("operand", operand)) is not None:
        raise Question(f"operand is the mnemonic {operand}; the mnemonic comes first, then the operand")
    variant = _variant(mnemonic)
    word = integer("idesc", selectors.pop("idesc")) if "idesc" in selectors else None
    if word is not None or placed_part(specification, variant, named_operand(variant, operand)) is not None:
        numbers = {name: integer(name, number) for name, number in selectors.items()}
        numbers |= {"s": numbers.pop("selector")} if "selector" in numbers else {}
        return OperandLayout(table_of(specification, variant, operand, None, numbers, word))
    layout = specification.layout_of(variant, operand)
    parameters, stated = layout.layout.params, stated_parameters(layout, variant)
    known = {said(name).replace("-", "_"): name for name in parameters if name not in stated}
    for name in selectors:
        if name not in known:
            choices = ", ".join(known) or "none"
            raise Question(f"{operand} of {mnemonic} has no selector {name!r}; it has: {choices}")
    given = {known[name]: integer(name, number) for name, number in selectors.items()}
    for name, parameter in known.items():
        values = parameters[parameter].values
        if parameter not in given and len(values) > 1:
            raise Question(f"{operand} of {mnemonic} needs {name}= one of {', '.join(map(str, values))}")
    return OperandLayout(table_of(specification, variant, operand, None, given))


@dataclass(frozen=True)
class SparseMatrix:
    """A compressed multiplicand A: packed elements, and the metadata words that the instruction takes.

    `packed` is (M, K*slots/chunk), of the matrix's dtype. `metadata` is (M/m, K/k, threads), uint32, tile
    by tile: metadata[i, j, t] is the word that thread t gives for rows i*m… and columns j*k… of A. The words
    are for the sparsity selector `selector`.
    """

    packed: NDArray[Any]
    metadata: NDArray[np.uint32]
    selector: int

    def __repr__(self) -> str:
        packed, words = (" x ".join(map(str, array.shape)) for array in (self.packed, self.metadata))
        return (
            f"SparseMatrix(packed {packed} {self.packed.dtype}, metadata {words}, selector {self.selector})"
        )


@asked
def compress(mnemonic: str, matrix: ArrayLike, selector: int | None = None) -> SparseMatrix:
    """Compress a matrix of the right sparsity, of any multiple of the instruction's m x k (9.7.15.6.1).

    `matrix` is (M, K) of any numbers of 8 to 64 bits; every stored element keeps its bits. Only +0 counts as
    absent: −0.0 and NaN are values. `selector` is the sparsity selector that the instruction gets; it may
    be left out where there is only one. Raises Question for a dense mnemonic, another shape, a selector
    that is missing or out of range, or a chunk with too many values, by row and columns.

    >>> import numpy
    >>> matrix = numpy.tile([0, 1, 2, 0], (128, 32)).astype("float16")
    >>> ptxmma.compress("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", matrix, selector=1)
    SparseMatrix(packed 128 x 64 float16, metadata 2 x 4 x 128, selector 1)
    """
    name, array = text("mnemonic", mnemonic), _matrix("matrix", matrix)
    sparse = _sparse(name, selector)
    return SparseMatrix(*sparse.compress(array), sparse.selector)


@asked
def decompress(
    mnemonic: str, packed: ArrayLike, metadata: ArrayLike, selector: int | None = None
) -> NDArray[Any]:
    """The full matrix (M, K) of packed A and its metadata words, as `compress` gives them.

    `metadata` is (M/m, K/k, threads) as `SparseMatrix` lays it out, or flat in that order: integers of 32
    bits. Raises Question for other shapes or numbers, and for a code that is not valid, by row and chunk.

    >>> import numpy
    >>> mnemonic = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
    >>> matrix = numpy.tile([0, 1, 2, 0], (64, 8)).astype("float16")
    >>> sparse = ptxmma.compress(mnemonic, matrix, selector=0)
    >>> bool((ptxmma.decompress(mnemonic, sparse.packed, sparse.metadata, selector=0) == matrix).all())
    True
    """
    name, elements = text("mnemonic", mnemonic), _matrix("packed", packed)
    return _sparse(name, selector).decompress(elements, _matrix("metadata", metadata))


def _sparse(mnemonic: str, selector: int | None) -> SparseA:
    """A of a mnemonic for a selector, which may be left out where there is only one."""
    from .gen.sparse_arrays import SparseA

    specification, variant = load(), _variant(mnemonic)
    specification.sparsity_of(variant)  # before its metadata: a dense variant has neither
    selectors = SparseA(specification, variant).selectors
    if selector is None and len(selectors) > 1:
        raise Question(f"{mnemonic} needs selector= one of {', '.join(map(str, selectors))}")
    return SparseA(specification, variant, 0 if selector is None else integer("selector", selector))


@dataclass(frozen=True)
class MatrixDescriptor:
    """A descriptor: its `word` and the value of each of its `fields`."""

    word: int
    fields: dict[str, int]

    def __int__(self) -> int:
        return self.word

    def __repr__(self) -> str:
        shown = ", ".join(f"{name.replace('-', '_')}={value}" for name, value in self.fields.items() if value)
        return f"MatrixDescriptor({self.word:#018x}: {shown or 'all fields 0'})"


@asked
def descriptor(word: int | None = None, *, kind: str | None = None, **fields: int | str) -> MatrixDescriptor:
    """Decode a descriptor, or encode one from its fields (9.7.15.5.1, 9.7.16.4).

    Field names have underscores: start_address=1024, swizzle_mode="128B". Addresses and offsets are in
    bytes. Settings of the statement (cta_group=2) may stand among the fields, also beside a word. `kind` is a
    descriptor of the specification; None means its first. Raises Question for an unknown kind or field, a
    value out of range, reserved bits that are set, or fields that do not go together, with the reasons.

    >>> ptxmma.descriptor(start_address=1024, swizzle_mode="128B")
    MatrixDescriptor(0x4000000000000040: start_address=1024, swizzle_mode=1)
    """
    from .spec.descriptor import decode, encode

    known = load().descriptors
    from .spec.described_operands import holding
    from .spec.descriptor_rules import judge_word

    if kind is not None and kind not in known:
        raise Question(f"there is no descriptor {kind!r}; there are: {', '.join(known)}")
    form = known[kind] if kind is not None else next(iter(known.values()))
    settings = {name: integer(name, value) for name, value in fields.items() if name in form.settings}
    given = {
        name.replace("_", "-"): value if isinstance(value, str) else integer(name, value)
        for name, value in fields.items()
        if name not in settings
    }
    for name in given:
        if name not in form.fields:
            guess = nearest(name, form.fields)
            hint = f"did you mean {guess}?" if guess else f"it has {', '.join(form.fields)}"
            written = name.replace("-", "_")
            raise Question(f"the descriptor has no field {written!r}; {hint.replace('-', '_')}")
    if word is None:
        word = encode(form, given)
    elif given:
        raise Question("give a word to decode, or fields to encode, not both")
    number = integer("a descriptor", word)
    found = judge_word(form, number, settings, holding(shared.judge())) if form.rules else None
    if found is not None and not found:
        raise Question("; ".join(reason.message for reason in found.reasons))
    return MatrixDescriptor(number, decode(form, number))


@asked
def check(source: str | Path, target: str | None = None) -> FileReport:
    """Check the kernels of a PTX file, given by its path or as text (a string of several lines).

    `target` replaces the file's own. The report's `findings` have rule, tier, place and message;
    `holds` says whether nothing failed. Raises Question for text that is not PTX.

    >>> report = ptxmma.check("tests/check/unwaited.ptx")
    >>> [(finding.rule, finding.place.line) for finding in report.findings if finding.tier == "error"]
    [('accumulator-in-flight', 17)]
    """
    from .check.check_file import check_text

    if source == "":
        raise Question("check needs a path or PTX text, not an empty string")
    if isinstance(source, str) and "\n" in source:
        return check_text(source, "<text>", _target(target))
    if not isinstance(source, str | Path):
        raise Question(f"check needs a path or PTX text, not {described(source)}")
    try:
        with open(source, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
    except OSError as error:
        raise Question(f"{source}: {error.strerror} (PTX text has several lines, a path has one)") from None
    except ValueError as error:
        raise Question(f"{source!r}: {error}") from None
    return check_text(text, str(source), _target(target))


@asked
def diff(old: str, new: str, pattern: str | None = None, target: str | None = None) -> tuple[Change, ...]:
    """What changed between two PTX ISA versions: forms added, removed, deprecated, gates moved.

    `pattern` and `target` narrow it. Each change has a kind, its rows, its targets and its variants.
    Raises Question for an unknown version or target, and when the pattern matches nothing.

    >>> ptxmma.diff("8.3", "8.4", "wgmma.mma_async.sp")
    (Change(added: 72 forms of wgmma.mma_async.sp integer),)
    """
    from .audit.version_differences import changes
    from .spec.selection import select, unmatched

    specification = load()
    isa = specification.isa
    chosen = list(select(specification, _pattern(pattern), None, None))
    if not chosen:
        raise Question(unmatched(specification, pattern))
    versions = isa.version(version_number("old", old)), isa.version(version_number("new", new))
    return tuple(changes(specification, chosen, *versions, _target(target)))


@asked
def numerics(pattern: str | None = None, *, target: str = "sm_90a") -> tuple[SumKind, ...]:
    """What the sums of a chip keep and lose, for every set of types: the rows of `ptxmma numerics`.

    `pattern` is a mnemonic, a part of one, or a pattern with `*`. Raises Question when nothing that matches
    computes sums, or what they come to is not known.

    >>> (kind,) = ptxmma.numerics("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> kind.bounds, kind.one_is_lost_at
    ((SumBound(cut=Fraction(268435215, 16777216), window=25, digits=24, nearest=False),), 16777216)
    """
    from .gen.arithmetic.type_sets import sum_kinds
    from .spec.selection import summing

    specification = load()
    name = target_name(specification.isa, target)
    return tuple(sum_kinds(specification, summing(specification, _pattern(pattern), name), name))


@asked
def dot(
    mnemonic: str,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    *,
    target: str = "sm_90a",
    scale_a: int = 1,
    scale_b: int = 1,
) -> NDArray[Any]:
    """Elements of D as a chip computes them, bit for bit: sums of products, plus C.

    `a` and `b` are bit patterns, unsigned integers (jobs, k), where k counts the products that an element
    of D has: K, or K/2 stored elements where A is sparse. `c` (jobs,) is +0 if it is left out. The answer
    (jobs,) has the bit patterns of D. `scale_a` and `scale_b` are imm-scale: -1 negates the elements.

    C compiled by `cc` computes many products, numpy few, or all where there is no compiler. Raises Question
    for wrong shapes and codes, and where nobody has measured the arithmetic of the target.

    >>> MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    >>> one, two = 0x3C00, 0x4000  # in f16
    >>> ptxmma.dot(MMA, [[one] * 8], [[two] * 8]) == 0x41800000  # 16 in f32
    array([ True])
    """
    import numpy as np

    from .gen.arithmetic.dot_products import sums_of
    from .spec.arithmetic import negated

    sums = sums_of(_variant(mnemonic).mnemonic, target_name(load().isa, target))
    negates = negated(sums.variant, integer("scale_a", scale_a), integer("scale_b", scale_b))
    codes_a = sums.codes("A", _codes("a", a))
    codes_b = sums.codes("B", _codes("b", b), len(codes_a))
    codes_c = sums.codes("C", np.zeros(len(codes_a), int) if c is None else _codes("c", c), len(codes_a))
    return sums.results(codes_a, codes_b, codes_c, negates)


@asked
def explain(
    mnemonic: str,
    a: str | Sequence[float | str],
    b: str | Sequence[float | str],
    c: float | str = 0,
    *,
    target: str = "sm_90a",
    scale_a: int = 1,
    scale_b: int = 1,
) -> ExplainedElement:
    """One element of D step by step: terms, window, what was cut, sum, rounding, against the exact value.

    `a` is a row of A and `b` a column of B: numbers, or texts as `ptxmma explain` takes them ("1,0x1p-14",
    "0x3c00", "448*16"); what is missing is 0. The answer prints itself as that command does, and shows
    itself in a notebook. Raises Question where an element is not one of its type, and where nobody has
    measured the arithmetic of the target.

    >>> MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> print(str(ptxmma.explain(MMA, "1,0x1p-14", "1,0x1p-12", -1)).splitlines()[-1])
    exact: 2^-26; D - exact = -2^-26
    """
    from .gen.arithmetic.explained_elements import explained_element

    specification, variant = load(), _variant(mnemonic)
    name = target_name(specification.isa, target)
    written = {"a": _elements(a), "b": _elements(b), "c": str(c)}
    scales = integer("scale_a", scale_a), integer("scale_b", scale_b)
    return explained_element(specification, variant, name, written, scales)


@asked
def matmul(
    mnemonic: str,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    *,
    metadata: ArrayLike | None = None,
    selector: int | None = None,
    accumulate: int | None = None,
    target: str = "sm_90a",
    scale_a: int = 1,
    scale_b: int = 1,
) -> NDArray[Any]:
    """D = A*B + C for whole matrices as a chip computes it, bit for bit; along K in the instruction's steps.

    `a` (M, K), `b` (K, N) and `c` (M, N) are any multiples of the instruction's m, n and k, of numpy's or
    ml_dtypes' numbers, of integers, or of bit patterns (unsigned integers). A sparse mnemonic takes all of A,
    or packed A with the `metadata` that `compress` gives. `accumulate` starts a new sum every so many columns
    of A, and adds each to C in f32 (DeepGEMM: 128). The answer has numpy's numbers where numpy has those of
    D and A was not given as bit patterns. Raises Question for wrong shapes and types, and where nobody has
    measured the arithmetic of the target.

    >>> import numpy
    >>> a, b = numpy.ones((16, 32), "float16"), numpy.full((32, 8), 2, "float16")
    >>> float(ptxmma.matmul("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b)[0, 0])
    64.0
    """
    from .gen.arithmetic.dot_products import sums_of
    from .gen.arithmetic.matrix_products import MatrixProduct
    from .spec.arithmetic import negated

    name = text("mnemonic", mnemonic)
    sums = sums_of(_variant(name).mnemonic, target_name(load().isa, target))
    coded_by = 0
    if metadata is not None:
        coded_by = _sparse(name, selector).selector
    elif selector is not None:
        raise Question("a selector goes with metadata; without them all of A is given")
    product = MatrixProduct(
        sums, negated(sums.variant, integer("scale_a", scale_a), integer("scale_b", scale_b))
    )
    given = _matrix("a", a)
    found = product.codes(
        given,
        _matrix("b", b),
        None if c is None else _matrix("c", c),
        None if metadata is None else _matrix("metadata", metadata),
        coded_by,
        None if accumulate is None else integer("accumulate", accumulate),
    )
    numbers, form = product.numbers(), load().formats.get(sums.arithmetic.types["A"])
    coded = form is not None and given.dtype.kind in "iu"
    return found if coded or numbers is None else found.view(numbers)


def _elements(given: str | Sequence[float | str]) -> str:
    """Elements as the command line takes them."""
    return given if isinstance(given, str) else ",".join(map(str, given))


def _codes(name: str, given: ArrayLike) -> NDArray[Any]:
    """An array of bit patterns, Python's integers too; raises Question for anything else."""
    import numpy as np

    plain = isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray)
    array = np.asarray(given) if plain else _matrix(name, given)
    if array.dtype.kind not in "ui":
        raise Question(f"{name} holds {array.dtype}; bit patterns are unsigned integers")
    return array


def _matrix(name: str, given: ArrayLike) -> NDArray[Any]:
    import numpy as np

    if isinstance(given, str):
        raise Question(f"{name} is text, not numbers; the mnemonic comes first, then the matrix")
    if isinstance(given, SparseMatrix):
        raise Question(f"{name} is a SparseMatrix; give its packed, its metadata and its selector")
    if isinstance(given, np.ma.MaskedArray):
        raise Question(f"{name} is a masked array; .filled(0) puts numbers where it has none")
    try:
        array = np.asarray(given)
    except ValueError:
        raise Question(f"the rows of {name} must be of one length") from None
    if array.dtype.kind == "O" and not array.ndim:
        raise Question(f"{name} must be an array of numbers, not {described(given)}")
    if array.dtype.kind == "O":
        raise Question(
            f"{name} holds Python objects or longer integers; numbers of at most 64 bits are needed"
        )
    if array.dtype.kind not in "fiuV" or array.dtype.itemsize not in (1, 2, 4, 8):
        raise Question(f"{name} holds {array.dtype}; numbers of at most 64 bits are needed")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _pattern(given: str | None) -> str | None:
    return None if given is None else text("pattern", given)


def _version(ptx: str | None) -> str | None:
    return None if ptx is None else version_number("ptx", ptx)


def _target(target: str | None) -> str | None:
    return None if target is None else target_name(load().isa, target)


def _variant(mnemonic: str) -> Variant:
    given = text("mnemonic", mnemonic)
    if len(given.strip()) == 1:
        raise Question(f"mnemonic is {given!r}; the mnemonic comes first, then the operand")
    return shared.find(given)
