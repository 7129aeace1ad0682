"""Kernels of instructions on opaque fragments, each with the instructions that fill and empty them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...spec.errors import Question
from ...spec.parts import element_type
from ...spec.specification import Specification
from ...spec.variants import Variant
from .kernel_list import FragmentAccess, Kernel, space_of

__all__ = ["global_kernel", "opaque_kernels"]

_ROUNDS = 2  # kernels of every mnemonic, at least


def opaque_kernels(variants: Sequence[Variant]) -> Iterator[Kernel]:
    """At least two kernels of every mnemonic on opaque fragments, and more until every access occurs.

    `variants` are all that a target has, those that access fragments among them.
    """
    by_instruction: dict[str, list[Variant]] = {}
    for variant in variants:
        by_instruction.setdefault(variant.instruction.instruction, []).append(variant)
    users = [v for v in variants if v.instruction.fragments]
    options = [(user, _options(user, by_instruction)) for user in users]
    missing = {_key(part, access) for _, parts in options for part, all in parts.items() for access in all}
    made: set[str] = set()
    turn = 0
    for number in range(max(_ROUNDS, len(missing) + _ROUNDS)):
        for user, parts in options:
            wanted = any(_key(part, access) in missing for part, all in parts.items() for access in all)
            if number >= _ROUNDS and not wanted:
                continue
            chosen: dict[str, FragmentAccess] = {}
            for part, all in parts.items():
                turn += 1
                turned = all[turn % len(all) :] + all[: turn % len(all)]
                chosen[part] = next((a for a in turned if _key(part, a) in missing), turned[0])
                missing.discard(_key(part, chosen[part]))
            kernel = Kernel("value", user, user.row.row.forms[0], {}, chosen)
            if kernel.name not in made:
                made.add(kernel.name)
                yield kernel
        if not missing and number >= _ROUNDS - 1:
            return


def global_kernel(specification: Specification, user: Variant, target: str) -> Kernel:
    """The raw kernel of an instruction on opaque fragments, filled from global memory without a stride.

    Raises Question where nothing fills them so.
    """
    known = {
        name: [variant for view in specification.families[name].rows for variant in view.variants()]
        for name in user.instruction.fragments.values()
    }
    chosen = {}
    for part, options in _options(user, known).items():
        fitting = (
            one
            for one in options
            if space_of(one.variant) == "global"
            and not one.strided
            and target in dict(one.variant.gate.targets)
        )
        access = next(fitting, None)
        if access is None:
            raise Question(f"nothing accesses fragment {part} of {user.mnemonic} in global memory")
        chosen[part] = access
    return Kernel("raw", user, user.row.row.forms[0], {}, chosen)


def _key(part: str, access: FragmentAccess) -> tuple[str, str, str]:
    return part, access.variant.mnemonic, access.form_name


def _options(user: Variant, known: Mapping[str, Sequence[Variant]]) -> dict[str, list[FragmentAccess]]:
    """For each part, the accesses whose shape, type and layout match the fragment."""
    found: dict[str, list[FragmentAccess]] = {}
    for part, name in user.instruction.fragments.items():
        wanted = {name: user.fields[name] for name in "mnk"}
        layout = f"{part.lower()}layout"
        if layout in user.fields:
            wanted["layout"] = user.fields[layout]
        found[part] = [
            FragmentAccess(variant, form)
            for variant in known.get(name, ())
            if wanted.items() <= variant.fields.items()
            and element_type(variant, part) == element_type(user, part)
            for form in variant.row.row.forms
        ]
    return found
