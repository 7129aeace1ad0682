"""Is one PTX statement legal, for a PTX ISA version and a target? With every reason when it is not.

Answers are memoised by what they depend on, so that whole files are judged at an assembler's speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from .constants import SyntaxFault
from .diagnosis import Reason
from .gates import EffectiveGate, Isa
from .lazy_dataclass import dataclass
from .mnemonics import ANY_SHAPE, ILLEGAL, LEGAL, UNKNOWN, MnemonicGroup, NamedMnemonic, fill_shape
from .model import Form
from .naming import instructions_like, matching
from .nodes import Version, nearest
from .open_gates import OpenGates
from .operand_rules import fits, nameless, written
from .quantities import counted
from .special_registers import type_of
from .spellings import MnemonicSpellings
from .statements import Argument, Statement, arguments, element_kind, read_statement
from .variants import Variant

__all__ = ["ANY_SHAPE", "ILLEGAL", "LEGAL", "Judge", "Verdict"]

_SUM = "a register and a constant as one operand: every ptxas adds them, the text has sums in addresses alone"
_UNDECLARED = "no declaration before the statement: its type was not judged"
_BESIDE = (
    "a special register, or a literal in a vector: the text has other registers alone, and ptxas refuses it "
    "in places, such as where a target emulates the instruction"
)


@dataclass(frozen=True)
class Verdict:
    """`verdict` is legal, illegal or unknown; `variant` and `form` say how the statement was read.

    A verdict is true if it is "legal": neither "illegal" nor "unknown" is. A reason has a `code`, which does
    not change between versions, and a `message`.
    """

    verdict: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    variant: Variant | None = None
    form: Form | None = None

    def __bool__(self) -> bool:
        return self.verdict == LEGAL

    def __repr__(self) -> str:
        return f"Verdict({'; '.join((self.verdict, *(reason.code for reason in self.reasons)))})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and each reason with its code."""
        from . import html  # the command line never needs it

        said = [html.paragraph(self.verdict), *(html.paragraph(note) for note in self.notes)]
        if self.reasons:
            rows = ((reason.code, reason.message) for reason in self.reasons)
            said.insert(1, html.table(("reason", "what is wrong"), rows))
        return "".join(said)


class Judge:
    """Judges statements for one PTX ISA version and one target (None: any target)."""

    def __init__(
        self, spellings: Mapping[str, MnemonicSpellings], isa: Isa, ptx: Version, target: str | None
    ) -> None:
        self.isa = isa
        self.ptx = ptx
        self.target = target
        self._families = tuple(family for one in spellings.values() for family in one.families)
        self._gates = OpenGates(isa, ptx, target)
        self._groups = {name: MnemonicGroup(one, self._gates.is_open) for name, one in spellings.items()}
        self._longest = max(name.count(".") for name in self._groups) + 1
        self._begins: dict[tuple[str, ...], MnemonicGroup | None] = {}
        self._name_note = isa.name_note(target, ptx) if target else None
        self._named: dict[str, tuple[NamedMnemonic, str]] = {}
        self._plain: dict[tuple[int, int], Verdict] = {}
        self._alike: dict[str, tuple[Argument, ...]] = {}
        self._kept: dict[tuple[Argument, ...], tuple[Argument, ...]] = {}
        self._ever: dict[tuple[int, str], EffectiveGate | None] = {}

    @property
    def names(self) -> Iterable[str]:
        """The names of all instructions."""
        return self._groups.keys()

    def judge(self, text: str) -> Verdict:
        """The verdict on one statement, with register declarations before it if there are any."""
        try:
            statement = read_statement(text)
        except SyntaxFault as fault:
            return self._unreadable(text, fault)
        return self.judge_statement(statement)

    def judge_statement(self, statement: Statement) -> Verdict:
        """The verdict on a parsed statement."""
        named = self.judge_mnemonic(statement.mnemonic)
        if named.variant is None:
            return Verdict(named.verdict, named.reasons)
        form, faults = self.judge_operands(named.variant, statement)
        reasons = (*named.reasons, *_parted(named.variant, statement), *faults, *self._guarded(statement))
        reasons = (*reasons, *self._late(statement))
        tolerated = () if reasons or form is None else self._tolerated(named.variant, form, statement)
        notes = (*named.notes, *tolerated)
        return Verdict(ILLEGAL if reasons else LEGAL, reasons, notes, named.variant, form)

    def _tolerated(self, variant: Variant, form: Form, statement: Statement) -> Iterator[str]:
        """What the text does not have in the operands of a legal statement, and ptxas takes."""
        given = arguments(statement.operands)
        if any(one.shape == "sum" for one in given):
            yield _SUM
        if statement.declared:
            yield from self._undeclared(given, statement)
        operands = variant.row.family.instruction.operands
        for name, one in zip(form.operands, given, strict=False):
            if not operands[name].elements and self._is_other(one, statement):
                yield _BESIDE
                return

    def _undeclared(self, given: Iterable[Argument], statement: Statement) -> Iterator[str]:
        """Which registers have no declaration, where others have one; the name in an address may be that of a
        variable.
        """
        special, declared = self.isa.special_types, statement.declared
        names = [name for one in given if one.shape != "address" for name in one.registers]
        if statement.guard:
            names.append(statement.guard.lstrip("!"))
        unknown = dict.fromkeys(name for name in names if type_of(name, declared, special) is None)
        for name in unknown:
            if element_kind(name) == "register":
                yield f"{name} has {_UNDECLARED}"

    def _is_other(self, argument: Argument, statement: Statement) -> bool:
        """Whether an argument has a special register, or a literal in a vector."""
        special = self.isa.special_types
        if special.keys().isdisjoint(argument.registers):
            return bool(argument.literals)
        return any(text in special and text not in statement.declared for text in argument.registers)

    def judge_plain(self, mnemonic: str, operands: str) -> tuple[Verdict, str]:
        """The verdict on a statement already split, without guard or declarations.

        Memoised by what tells operands apart. The second value is the shape, where the verdict's reasons say
        <shape> in its place.
        """
        named, shape = self.name_of(mnemonic)
        try:
            key = id(named), id(self._told_apart(operands)) if named.variant else 0
        except SyntaxFault:
            return self.judge_statement(Statement(None, mnemonic, operands, {})), shape
        verdict = self._plain.get(key)
        if verdict is None:
            if named.variant is None:
                verdict = Verdict(named.verdict, named.reasons)
            else:
                verdict = self.judge_statement(Statement(None, mnemonic, operands, {}))
            self._plain[key] = verdict
        return verdict, shape

    def _told_apart(self, operands: str) -> tuple[Argument, ...]:
        """One tuple of arguments for all operands that are judged alike where nothing is declared; raises
        SyntaxFault.
        """
        found = self._alike.get(operands)
        if found is None:
            alike = tuple(nameless(one, self.isa.special_types) for one in arguments(operands))
            found = self._alike[operands] = self._kept.setdefault(alike, alike)
        return found

    def variant_of(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, whatever its gates say; None when it spells none."""
        group = self._group_of(mnemonic)
        return group.spellings.variant_of(mnemonic) if group else None

    def closest(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, or else the nearest one; None for an unknown instruction."""
        group = self._group_of(mnemonic)
        if group is None:
            return None
        spelling = group.spellings.spelling(mnemonic)
        found = group.spellings.spelled(spelling)
        return found[0] if found else group.closest(spelling)

    def gate_of(self, statement: Statement) -> EffectiveGate | None:
        """When a statement is legal, whatever this judge's version and target; None when it never is."""
        group = self._group_of(statement.mnemonic)
        variant = group.spellings.variant_of(statement.mnemonic) if group else None
        if variant is None:
            return None
        key = id(variant), statement.operands
        if key not in self._ever:
            self._ever[key] = self._gate_of(variant, statement)
        return self._ever[key]

    def _gate_of(self, variant: Variant, statement: Statement) -> EffectiveGate | None:
        """The gate of the first form that the operands take."""
        try:
            given = arguments(statement.operands)
        except SyntaxFault:
            return None
        for form in variant.forms:
            faults = self._compare(variant, form, given, statement)
            if all(reason.code.startswith("gate.") for reason in faults):
                gates = [*variant.row.gates_on(variant.fields), *([form.gate] if form.gate else [])]
                return self.isa.effective(gates)
        return None

    def _unreadable(self, text: str, fault: SyntaxFault) -> Verdict:
        """The verdict on text that is not a statement; a mnemonic alone is judged all the same."""
        reason = Reason("syntax", f"column {fault.column}: {fault}")
        head = text.strip().split(None, 1)
        name = head[0].rstrip(";") if head else ""
        if not name.isascii():
            return Verdict(UNKNOWN, (reason,))
        alone = self.judge_mnemonic(name).reasons if name and len(head) == 1 else ()
        return Verdict(ILLEGAL if self._group_of(name) else UNKNOWN, (reason, *alone))

    def _group_of(self, mnemonic: str) -> MnemonicGroup | None:
        tokens = (*mnemonic.split(".", self._longest)[: self._longest],)
        if tokens not in self._begins:
            names = (".".join(tokens[:length]) for length in range(len(tokens), 0, -1))
            found = next((self._groups[n] for n in names if n in self._groups), None)
            apart = (group for group in self._groups.values() if group.spellings.scattered(tokens))
            self._begins[tokens] = found or next(apart, None)
        return self._begins[tokens]

    def judge_mnemonic(self, mnemonic: str) -> NamedMnemonic:
        """The verdict on name and qualifiers, gates included."""
        named, shape = self.name_of(mnemonic)
        if not shape or named.variant is not None:
            return named
        return replace(named, reasons=tuple(fill_shape(reason, shape) for reason in named.reasons))

    def name_of(self, mnemonic: str) -> tuple[NamedMnemonic, str]:
        """What a spelling names, memoised; <shape> stands for the shape where it makes no difference."""
        known = self._named.get(mnemonic)
        if known is None:
            known = self._named[mnemonic] = self._name_of(mnemonic)
        return known

    def _name_of(self, mnemonic: str) -> tuple[NamedMnemonic, str]:
        group = self._group_of(mnemonic)
        if group is None:
            return NamedMnemonic(UNKNOWN, (self._unknown_name(mnemonic),)), ""
        found = group.look_up(mnemonic)
        if isinstance(found[0], NamedMnemonic):
            named, shape = found[0], found[1] or ""
            count = self._incomplete(group, mnemonic)
            if count:
                part = f"{mnemonic} is not a whole mnemonic: {count} match"
                reason = Reason("qualifier.missing", f"{part}; `ptxmma list {mnemonic}` names them")
                named, shape = NamedMnemonic(ILLEGAL, (reason,)), ""
            if named.verdict == ILLEGAL and not group.open_rows:
                own = self.isa.effective([group.families[0].instruction.gate])
                named = replace(named, reasons=(*self.gate_reasons(own), *named.reasons))
            return named, shape
        variant, note = found
        reasons = self.gate_reasons(variant.gate)
        notes = [found for found in (note, self._name_note) if found]
        deprecated = variant.gate.deprecated
        if deprecated and deprecated <= self.ptx and not reasons:
            notes.append(f"deprecated since PTX ISA {deprecated}")
        return NamedMnemonic(ILLEGAL if reasons else LEGAL, reasons, tuple(notes), variant), ""

    def _incomplete(self, group: MnemonicGroup, mnemonic: str) -> int:
        """How many mnemonics a text may be the beginning of: one that has no element types yet, and lacks
        more than one qualifier, where the nearest row would be any of them; else 0.
        """
        if group.spellings.has_ordered(mnemonic):
            return 0
        count = len(matching(self._families, mnemonic))
        return 0 if count < 2 or group.lacks_one(group.spellings.spelling(mnemonic)) else count

    def _unknown_name(self, mnemonic: str) -> Reason:
        message = f"the specification does not hold the instruction {mnemonic}"
        known = self._group_of(mnemonic.lower())
        if known is not None and known is not self._group_of(mnemonic):
            right = known.spellings.name
            return Reason("opcode.unknown", f"{message}; PTX tells upper from lower case: write {right}")
        opened = [name for name, group in self._groups.items() if group.open_rows]
        name = mnemonic.lower()
        close = nearest(name, opened) or nearest(".".join(name.split(".")[:2]), opened)
        families = dict.fromkeys(view.family for name in opened for view, _ in self._groups[name].open_rows)
        likely = instructions_like(families, mnemonic) or ([close] if close else [])
        nearest_are = "the nearest that it has is" if len(likely) == 1 else "it has"
        hint = f"; {nearest_are} {', '.join(likely)}" if likely else ""
        return Reason("opcode.unknown", f"{message}{hint}")

    def is_open(self, gate: EffectiveGate) -> bool:
        """Whether a gate is open for this version and target."""
        return self._gates.is_open(gate)

    def gate_reasons(self, gate: EffectiveGate) -> tuple[Reason, ...]:
        """Why a gate is shut for this version and target; empty when it is open."""
        return self._gates.reasons(gate)

    def judge_operands(
        self, variant: Variant, statement: Statement
    ) -> tuple[Form | None, tuple[Reason, ...]]:
        """The form that the operands take, and what is wrong with them."""
        try:
            given = arguments(statement.operands)
        except SyntaxFault as fault:
            column = len(statement.mnemonic) + fault.column
            return None, (Reason("syntax", f"column {column}: {fault}"),)
        for form in variant.forms:
            if next(self._compare(variant, form, given, statement), None) is None:
                return form, ()
        # None takes them: which comes nearest takes all that is wrong with each.
        tried = ((form, tuple(self._compare(variant, form, given, statement))) for form in variant.forms)
        return min(tried, key=lambda pair: _weight(pair[1]))

    def _compare(
        self, variant: Variant, form: Form, given: tuple[Argument, ...], statement: Statement
    ) -> Iterator[Reason]:
        operands = variant.row.family.instruction.operands
        if form.gate:
            yield from self.gate_reasons(self.isa.effective([form.gate]))
        wanted = form.operands
        if len(given) != len(wanted):
            verb = "is" if len(given) == 1 else "are"
            here = f"{len(wanted) or 'none'} belong{'s' * (len(wanted) < 2)} here"
            names = f": {', '.join(wanted)}" if wanted else ""
            yield Reason("operand.count", f"{counted(len(given), 'operand')} {verb} given; {here}{names}")
        for name, argument in zip(wanted, given, strict=False):
            yield from fits(variant, name, operands[name], argument, statement)

    def _guarded(self, statement: Statement) -> Iterator[Reason]:
        """What is wrong with the predicate that guards a statement."""
        register = statement.guard.lstrip("!") if statement.guard else ""
        declared = statement.declared.get(register) or self.isa.special_types.get(register, "pred")
        if declared != "pred":
            yield Reason("guard.type", f"the guard {register} is .{declared}; it must be .pred")

    def _late(self, statement: Statement) -> Iterator[Reason]:
        """Which special registers of a statement are not there under this version or on this target."""
        late = self.isa.late_registers
        names = [statement.guard.lstrip("!")] if statement.guard else []
        with suppress(SyntaxFault):
            for one in arguments(statement.operands):
                names += one.registers
        if late.keys().isdisjoint(names):
            return
        for name in dict.fromkeys(names):
            if name in late and name not in statement.declared:
                for reason in self.gate_reasons(late[name]):
                    yield Reason("operand.special", f"the special register {name}: {reason.message}")

    def suggest(self, statement: Statement) -> str | None:
        """The nearest form that is legal here, mnemonic and operands by name, vectors in braces and addresses
        in brackets; None where none is known, and for a mnemonic that many others begin with.
        """
        mnemonic = statement.mnemonic
        group = self._group_of(mnemonic) or self._group_of(mnemonic.lower())
        if group is None:
            return None
        if group.spellings.variant_of(mnemonic) is None:
            lower = mnemonic.lower()
            known = self._group_of(lower)
            if known is not None and self._incomplete(known, lower):
                return None
            mnemonic = group.spellings.in_case(mnemonic)
        variant = group.suggestion(mnemonic)
        if variant is None:
            return None
        forms = [form for form in variant.forms if self._takes(variant, form)]
        if not forms:
            return None
        form = forms[0] if len(forms) == 1 else self._nearest_form(variant, forms, statement)
        operands = ", ".join(written(variant, name) for name in form.operands)
        return f"{variant.mnemonic} {operands}".strip() + ";"

    def _takes(self, variant: Variant, form: Form) -> bool:
        """Whether a form's own gate, if it has one, is open beside those of the variant."""
        if not form.gate:
            return True
        return self.is_open(self.isa.effective([*variant.row.gates_on(variant.fields), form.gate]))

    def _nearest_form(self, variant: Variant, forms: Sequence[Form], statement: Statement) -> Form:
        """The form that the operands come nearest to."""
        try:
            given = arguments(statement.operands)
        except SyntaxFault:
            given = ()
        return min(forms, key=lambda f: _weight(tuple(self._compare(variant, f, given, statement))))


def _parted(variant: Variant, statement: Statement) -> Iterator[Reason]:
    """Where a blank parts a mnemonic that it may not part: ptxas reads the name as one word."""
    if statement.written is None:
        return
    name = variant.row.family.instruction.opcode or variant.row.family.name
    stem, place = name.partition("::")[0], 0
    for word in statement.written.split()[:-1]:
        place += len(word)
        behind = statement.mnemonic[place:]
        if place < len(stem) or not behind.startswith("." if place > len(stem) else (".", "::")):
            what = f"no blank may part {stem}" if place < len(stem) else f"no blank may stand before {behind}"
            yield Reason("syntax", f"column {place + 1}: {what}")
            return


def _weight(reasons: tuple[Reason, ...]) -> int:
    """How far operands are from a form. A wrong kind weighs more than a wrong count, so that the reasons are
    about the intended form.
    """
    weights = {"operand.kind": 4, "operand.count": 2}
    return sum(weights.get(reason.code, 1) for reason in reasons)
