"""The whole specification as one value, and the questions that need more than one of its files."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING

from .contract_records import Clause
from .errors import Question, SpecError
from .gates import Isa
from .index import Index
from .layout_records import Arrangement, Bridge
from .lazy_dataclass import dataclass
from .legality import Judge
from .maps import LayoutMap
from .memory_records import AddressFile, AddressRule, Descriptor
from .model import Instruction
from .nodes import Version
from .numerics_records import Format, Guarantee
from .parts import layout_key, named_operand, operands_of, placed_parts
from .sparse import valid_codes
from .sparsity_records import Sparsity
from .spellings import MnemonicSpellings, spellings_of
from .switches import Switch
from .variants import OPAQUE, Family, Variant

__all__ = ["METADATA_ORDER", "Specification"]

METADATA_ORDER = "metadata-order"  # the switch of spec/sparsity.yaml that settles which codes are valid


@dataclass(frozen=True)
class Specification:
    """Everything that the YAML says, in the order in which it says it."""

    index: Index
    instructions: Mapping[str, Instruction]
    layouts: Mapping[str, LayoutMap]
    clauses: Mapping[str, Clause]
    switches: Mapping[str, Switch]
    sparsities: Mapping[str, Sparsity]
    descriptors: Mapping[str, Descriptor]
    bridges: Mapping[str, Bridge]
    arrangements: Mapping[str, Arrangement]
    addresses: AddressFile
    formats: Mapping[str, Format]
    guarantees: Mapping[str, Guarantee]

    def __repr__(self) -> str:
        return f"Specification(PTX ISA {self.index.isa}: {len(self.instructions)} instructions)"

    def __getstate__(self) -> dict[str, bytes]:
        """What the YAML says, without what was derived from it. Each field is packed by itself: few commands
        ask for all of them.
        """
        return {f.name: pickle.dumps(getattr(self, f.name), pickle.HIGHEST_PROTOCOL) for f in fields(self)}

    def __setstate__(self, packed: dict[str, bytes]) -> None:
        self.__dict__["_packed"] = packed

    if not TYPE_CHECKING:  # else any name would be an attribute

        def __getattr__(self, name: str) -> object:
            """A field that is asked for the first time."""
            packed = self.__dict__.get("_packed", {})
            if name not in packed:
                raise AttributeError(f"'Specification' object has no attribute {name!r}")
            return self.__dict__.setdefault(name, pickle.loads(packed[name]))

    @cached_property
    def isa(self) -> Isa:
        return Isa(self.index)

    @cached_property
    def families(self) -> Mapping[str, Family]:
        return {name: Family(i, self.isa) for name, i in self.instructions.items()}

    @cached_property
    def spellings(self) -> Mapping[str, MnemonicSpellings]:
        return spellings_of(self.families.values(), self.index)

    def derive_from(self, before: Specification | None) -> None:
        """Keep what was derived from instructions that `before` has too, under the same index."""
        if before is not None and before.index is self.index:
            self.__dict__["isa"] = before.isa
            self.__dict__["families"] = {
                name: before.families[name]
                if before.instructions.get(name) is one
                else Family(one, before.isa)
                for name, one in self.instructions.items()
            }
            self.__dict__["spellings"] = {
                name: old if (old := before.spellings.get(name)) and old.families == one.families else one
                for name, one in spellings_of(self.families.values(), self.index).items()
            }

    def find(self, mnemonic: str) -> Variant:
        """The variant that a mnemonic spells; raises Question with the reasons and the nearest."""
        judge = self.judge()
        named = judge.judge_mnemonic(mnemonic.strip().rstrip(";").rstrip())
        if named.variant is None:
            why = "; ".join(reason.message for reason in named.reasons)
            raise Question(f"{mnemonic}: {why}")
        return named.variant

    def layout_of(self, variant: Variant, operand: str) -> LayoutMap:
        """The layout of an operand of a variant; raises Question when it has none, or an opaque one."""
        operand, instruction = named_operand(variant, operand), variant.instruction
        own = instruction.operands.get(operand)
        described = own is not None and own.descriptor is not None and operand not in variant.layouts
        key = None if described else layout_key(variant, operand)
        if key is None:
            meant = [own] if own is not None else [found for _, found in operands_of(instruction, operand)]
            kinds = [found.descriptor for found in meant if found.descriptor]
            if kinds and not any(self.descriptors[kind].addresses for kind in kinds):
                raise Question(
                    f"{operand} of {variant.mnemonic} is a word, and no matrix lies behind it; "
                    f"see `ptxmma descriptor decode WORD --kind {kinds[0]}`"
                )
            if kinds:
                raise Question(
                    f"{operand} of {variant.mnemonic} lies in shared memory, behind a matrix descriptor; "
                    "see `ptxmma descriptor address`"
                )
            has = ", ".join((*variant.layouts, *placed_parts(self.layouts, variant))) or "none"
            raise Question(f"{variant.mnemonic} has no layout for {operand!r}; it has: {has}")
        identifier = variant.layouts[key]
        if identifier == OPAQUE:
            raise Question(
                f"the fragment {operand} of {variant.mnemonic} is opaque: which element each of its "
                f"{variant.fragment_registers(operand)} registers holds is unspecified (9.7.14.4.1); "
                f"use {self._accesses(variant.row.family.instruction)}"
            )
        return self.layouts[identifier]

    def _accesses(self, instruction: Instruction) -> str:
        """The instructions that fill and empty the opaque fragments of an instruction, or beside it."""
        for user in self.instructions.values():
            accesses = list(user.fragments.values())
            if instruction is user or instruction.instruction in accesses:
                return " and ".join(dict.fromkeys(name.rpartition(".")[0] for name in accesses))
        raise SpecError(
            f"nothing accesses the opaque fragments of {instruction.instruction}",
            instruction.place,
            "fragments: the instructions that fill and empty them",
        )

    def rules_of(self, descriptor: str) -> Mapping[str, AddressRule]:
        """The address rules of a descriptor, by id, in the order of the YAML."""
        wanted = self.descriptors[descriptor].addresses
        return {name: rule for name, rule in self.addresses.addresses.items() if name in wanted}

    def sparsity_of(self, variant: Variant) -> Sparsity:
        """The sparsity pattern of a variant; raises Question for a dense one, or where none is known."""
        if variant.row.row.sparsity is None and any(operands_of(variant.instruction, "metadata")):
            raise Question(
                f"the types of {variant.mnemonic} are in its instruction descriptor, and how its A is coded "
                "follows from them: no coding is known for the mnemonic"
            )
        if variant.row.row.sparsity is None:
            raise Question(f"{variant.mnemonic} is not sparse")
        return self.sparsities[variant.row.row.sparsity]

    def has_effect(self, variant: Variant, effect: str) -> bool:
        """Whether a clause on a variant's numbers has this effect on them: truncated, rounded."""
        return any(self.clauses[name].effect == effect for name in variant.row.row.numerical)

    def setting_of(self, variant: Variant, switch: str) -> str:
        """The setting of a switch for a variant: as its instruction settles it, else the default."""
        settled = variant.row.family.instruction.readings.get(switch, {})
        default = self.switches[switch].default
        return next((setting for setting, when in settled.items() if variant.evaluate(when)), default)

    def codes_of(self, variant: Variant) -> tuple[int, ...]:
        """The metadata codes that the text allows a variant; raises Question for a dense one."""
        return valid_codes(self.sparsity_of(variant), self.setting_of(variant, METADATA_ORDER))

    def selector_parameters(self, metadata: LayoutMap, selector: int) -> dict[str, int]:
        """The parameters of a metadata layout for a sparsity selector; raises Question when invalid."""
        if "s" not in metadata.parameters:
            if selector != 0:
                raise Question(f"the sparsity selector is {selector}; it must be 0")
            return {}
        allowed = metadata.layout.params["s"].values
        if selector not in allowed:
            shown = " or ".join(map(str, allowed))
            raise Question(f"the sparsity selector is {selector}; it must be {shown}")
        return {"s": selector}

    def judge(self, ptx: str | None = None, target: str | None = None) -> Judge:
        """A judge for a PTX ISA version (None: the newest) and a target (None: any)."""
        version: Version = self.isa.version(ptx) if ptx is not None else self.index.isa
        name = self.isa.target(target) if target is not None else None
        return Judge(self.spellings, self.isa, version, name)
