"""Switches: a switch is a question that the text leaves open, and each of its settings is one reading of the
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Literal

from .errors import Place, SpecError
from .lazy_dataclass import dataclass

__all__ = [
    "SWITCHES",
    "Conduct",
    "Setting",
    "ShapeField",
    "Switch",
    "SwitchFile",
    "check_conduct",
    "check_switches",
]

# The switches that the models follow: each stands in switches.yaml, and no other.
SWITCHES = (
    "same-shape",
    "accumulator-chain",
    "a-read-twice",
    "completed-mma",
    "reshaped-accumulator",
    "empty-groups",
    "proxy-fence-side",
    "completion-fence",
    "read-before-copy",
    "wait-scope",
    "unwaited-store",
)
ShapeField = Literal["n", "k", "types"]  # M is 64 in all


@dataclass(frozen=True)
class Conduct:
    """How the machine behaves where the text leaves it open; a field that is not settled is None or ().

    The machine is the operational model of formal/ordering/machine.py. Each field belongs to one switch of
    switches.yaml, and every setting of that switch settles it.
    """

    same_shape: tuple[ShapeField, ...] = ()
    """In what two wgmma.mma_async must agree for accesses of one accumulator to be ordered by default.
    Noticed by: proofs, models, tests. Example: `[n, k]`. Refuses: `[n, q]` (not in the list)."""
    fence_orders_shapes: bool | None = None
    """Whether a wgmma.fence orders them where they do not agree.
    Noticed by: proofs, models, tests. Example: `true`. Refuses: `maybe` (neither true nor false)."""
    empty_groups_count: bool | None = None
    """Whether wgmma.wait_group counts groups with nothing to wait for.
    Noticed by: proofs, models, tests. Example: `true`. Refuses: `maybe` (neither true nor false)."""
    proxy_fence_covers_all: bool | None = None
    """Whether a fence.proxy.async orders the earlier writes of other threads too.
    Noticed by: proofs, models, tests. Example: `true`. Refuses: `maybe` (neither true nor false)."""
    wait_covers_all: bool | None = None
    """Whether wgmma.wait_group in one warp waits for the other warps' parts too.
    Noticed by: proofs, models, tests. Example: `true`. Refuses: `maybe` (neither true nor false)."""
    block_lasts: bool | None = None
    """Whether a block's shared memory lasts until its bulk stores have read it.
    Noticed by: proofs, models, tests. Example: `true`. Refuses: `maybe` (neither true nor false)."""

    @property
    def settled(self) -> Mapping[str, object]:
        """The fields that have a value."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}


@dataclass(frozen=True)
class Setting:
    """One way to read a sentence of the text: a reading."""

    says: str
    """How the sentence is read.
    Noticed by: readers. Example: `two reads need no order`. Refuses: `null` (text must stand)."""
    machine: Conduct = field(default=Conduct())
    """What the setting settles of the machine's conduct; nothing if it does not stand.
    Noticed by: models, tests. Example: `{fence_orders_shapes: true}`. Refuses: `{nosuch: true}` (there is
    no such key)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class Switch:
    """A question that the text leaves open, and the ways to read it."""

    question: str
    """The question, with the words of the text that leave it open.
    Noticed by: readers. Example: `when both only read A?`. Refuses: `null` (text must stand)."""
    section: str
    """Where the sentence stands.
    Noticed by: readers. Example: `"9.7.15.7.1"`. Refuses: `9.7` (without quotes it is a number)."""
    settings: Mapping[str, Setting]
    """The ways to read it, by name.
    Noticed by: proofs, models, tests. Example: `{free: {says: two reads need no order}}`. Refuses:
    `{free: two reads}` (a mapping)."""
    default: str
    """The setting that holds unless another is asked for.
    Noticed by: proofs, models, tests. Example: `free`. Refuses: `nosuch` (not one of the settings)."""
    strict: str
    """The setting that allows least.
    Noticed by: proofs, models, tests. Example: `fence`. Refuses: `nosuch` (not one of the settings)."""
    why: str
    """The reason for the default.
    Noticed by: readers.
    Example: `no value can depend on the order of two reads`. Refuses: `null` (a reason must stand)."""
    place: Place


@dataclass(frozen=True)
class SwitchFile:
    """spec/ordering/switches.yaml."""

    switches: Mapping[str, Switch]
    """The switches by name.
    Noticed by: loader. Example: `{}`. Refuses: `{mine: {}}` (the key question is missing)."""


def check_switches(switches: Mapping[str, Switch]) -> None:
    """The default and the strict setting are settings of their switch; raises SpecError."""
    for name, switch in switches.items():
        for setting in (switch.default, switch.strict):
            if setting not in switch.settings:
                raise SpecError(
                    f"{name} has no setting {setting!r}",
                    switch.place,
                    "one of: " + ", ".join(switch.settings),
                )


def check_conduct(switches: Mapping[str, Switch]) -> None:
    """One switch of the ordering rules settles each field of a conduct, in all of its settings.

    Raises SpecError where none does, or two do, or a setting does not.
    """
    owners: dict[str, str] = {}
    for name, switch in switches.items():
        settled = {key for setting in switch.settings.values() for key in setting.machine.settled}
        for field_name in sorted(settled):
            if field_name in owners:
                raise SpecError(
                    f"{name} settles {field_name}, and so does {owners[field_name]}",
                    switch.place,
                    "one switch a field",
                )
            owners[field_name] = name
            for reading, setting in switch.settings.items():
                if field_name not in setting.machine.settled:
                    raise SpecError(
                        f"{name}={reading} does not settle {field_name}",
                        setting.place,
                        f"machine: {{{field_name}: …}}",
                    )
    for one in fields(Conduct):
        if one.name not in owners:
            place = next(iter(switches.values())).place
            raise SpecError(f"no switch settles {one.name}", place, "one switch a field")
