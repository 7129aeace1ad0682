"""The records of spec/ordering/: the rules of ordering, and litmus tests of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .errors import Place
from .lazy_dataclass import dataclass

__all__ = [
    "PHASE_RACES",
    "PHASE_RULES",
    "RULES",
    "LitmusFile",
    "LitmusTest",
    "PhaseFile",
    "PhaseLitmusTest",
    "PhaseRule",
    "Rule",
    "RuleFile",
    "SynthesisedFile",
    "SynthesisedTest",
]


# The rules that the models look for: each stands in rules.yaml, and no other.
RULES = (
    "first-fence",
    "register-fence",
    "accumulator-in-flight",
    "a-written-in-flight",
    "accumulator-as-a",
    "a-as-accumulator",
    "accumulator-reshaped",
    "uncommitted-at-wait",
    "wait-too-shallow",
    "proxy-fence",
    "proxy-fence-copy",
    "shared-unsynchronised",
    "shared-overwritten",
    "copy-incomplete",
    "bulk-store-fence",
    "bulk-store-pending",
    "bulk-store-unwaited",
    "a-read-in-flight",
    "fence-after-mma",
    "a-read-twice",
    "chain-unwaited",
    "fence-after-completion",
    "fence-after-load",
)

# The rules of barriers with phases: each stands in phases.yaml. A race breaks a rule of rules.yaml.
PHASE_RULES = ("barrier-stuck", "barrier-overrun", "barrier-unpublished")
PHASE_RACES = ("copy-incomplete", "shared-overwritten", "shared-unsynchronised")


@dataclass(frozen=True)
class Rule:
    """A named hazard: what the text demands, and whether a value can depend on it."""

    title: str
    """The hazard, in a phrase.
    Noticed by: readers.
    Example: `no wgmma.fence before the first wgmma.mma_async`. Refuses: `null` (text must stand)."""
    says: str
    """When a program has the hazard, in a sentence.
    Noticed by: readers.
    Example: `a wgmma.mma_async with no wgmma.fence before it`. Refuses: `null` (text must stand)."""
    section: str
    """Where the text demands the order.
    Noticed by: readers. Example: `"9.7.15.7.1"`. Refuses: `9.7` (without quotes it is a number)."""
    effect: Literal["values", "text"]
    """values: two schedules of the program give different results. text: the text calls it undefined,
    although no schedule can change a value.
    Noticed by: proofs, models, tests. Example: `values`. Refuses: `none` (not in the list)."""
    under: Mapping[str, str]
    """The settings of switches under which the rule applies; always if it is empty.
    Noticed by: proofs, models, tests. Example: `{accumulator-chain: wait}`. Refuses: `{nosuch: wait}`
    (there is no such switch)."""
    why: str
    """What can go wrong; for an effect on the text alone, why no value can change.
    Noticed by: readers.
    Example: `the result may arrive before or after the access`. Refuses: `null` (a reason must stand)."""
    mend: str
    """What a programmer should do.
    Noticed by: readers.
    Example: `put wgmma.fence before the first wgmma.mma_async`. Refuses: `null` (text must stand)."""
    place: Place

    def applies(self, readings: Mapping[str, str]) -> bool:
        """Whether the rule holds under these readings."""
        return all(readings[switch] == setting for switch, setting in self.under.items())


@dataclass(frozen=True)
class LitmusTest:
    """A litmus test written by hand: a program, and the rules that it breaks."""

    title: str
    """What the program shows, in a phrase.
    Noticed by: readers.
    Example: `the example of wgmma.commit_group, a commit alone`. Refuses: `null` (text must stand)."""
    source: str
    """The section or the public report that the program comes from.
    Noticed by: readers. Example: `"9.7.15.7.2"`. Refuses: `9.7` (without quotes it is a number)."""
    program: tuple[str, ...]
    """The steps, in the notation of formal/ordering/notation.py.
    Noticed by: models, tests. Example: `[fence, commit, wait 0]`. Refuses: `fence` (a list, also of one)."""
    hazards: tuple[str, ...]
    """The rules that it breaks under the default settings, in the order of the steps that complete them.
    Noticed by: models, tests. Example: `[first-fence]`. Refuses: `first-fence` (a list, also of one)."""
    why: str
    """Why it deserves them, or none.
    Noticed by: readers. Example: `without uncommitted wgmma.mma_async it makes an empty group`.
    Refuses: `null` (a reason must stand)."""
    under: Mapping[str, tuple[str, ...]]
    """By switch=setting: the rules that it breaks with that one setting, where they are others.
    Noticed by: models, tests. Example: `{same-shape=types: [accumulator-reshaped]}`. Refuses:
    `{same-shape=types: accumulator-reshaped}` (a list, also of one)."""
    place: Place


@dataclass(frozen=True)
class SynthesisedTest:
    """A litmus test made by formal/ordering/synthesis.py."""

    program: str
    """The steps, separated by semicolons.
    Noticed by: tests. Example: `"read r0; fence"`. Refuses: `[fence]` (text, not a list)."""
    hazards: tuple[str, ...]
    """The rules that it breaks under the default settings.
    Noticed by: tests. Example: `[first-fence]`. Refuses: `first-fence` (a list, also of one)."""


@dataclass(frozen=True)
class PhaseRule:
    """What the text demands of barriers with phases."""

    title: str
    """The hazard, in a phrase.
    Noticed by: readers.
    Example: `a wait that may never end`. Refuses: `null` (text must stand)."""
    says: str
    """When a program has the hazard, in a sentence.
    Noticed by: readers.
    Example: `a thread waits for a phase that does not end`. Refuses: `null` (text must stand)."""
    section: str
    """Where the text demands it.
    Noticed by: readers. Example: `"9.7.13.1"`. Refuses: `9.7` (without quotes it is a number)."""
    place: Place


@dataclass(frozen=True)
class PhaseLitmusTest:
    """A litmus test of barriers with phases: threads, and the rules that they break together."""

    title: str
    """What the program shows, in a phrase.
    Noticed by: readers.
    Example: `one arrival counts for two`. Refuses: `null` (text must stand)."""
    source: str
    """The section, the public report or the test that the program comes from.
    Noticed by: readers. Example: `"9.7.13.1"`. Refuses: `9.7` (without quotes it is a number)."""
    counts: tuple[int, ...]
    """The arrivals that a phase of each mbarrier takes: of b0, of b1, and so on.
    Noticed by: models, tests. Example: `[1, 2]`. Refuses: `[one]` (a number)."""
    threads: Mapping[str, tuple[str, ...]]
    """By name, the steps of each thread, in the notation of formal/ordering/phases/phase_programs.py.
    Noticed by: models, tests. Example: `{writer: [store s0, arrive b0]}`.
    Refuses: `{writer: store s0}` (a list, also of one)."""
    hazards: tuple[str, ...]
    """The rules that it breaks, in alphabetical order.
    Noticed by: models, tests. Example: `[barrier-stuck]`. Refuses: `barrier-stuck` (a list, also of one)."""
    why: str
    """Why it deserves them, or none.
    Noticed by: readers. Example: `an arrival is missing`. Refuses: `null` (a reason must stand)."""
    place: Place


@dataclass(frozen=True)
class PhaseFile:
    """spec/ordering/phases.yaml."""

    rules: Mapping[str, PhaseRule]
    """The rules by id.
    Noticed by: loader. Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""
    tests: Mapping[str, PhaseLitmusTest]
    """The tests by name.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""


@dataclass(frozen=True)
class RuleFile:
    """spec/ordering/rules.yaml."""

    rules: Mapping[str, Rule]
    """The rules by id.
    Noticed by: loader. Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""


@dataclass(frozen=True)
class LitmusFile:
    """spec/ordering/litmus.yaml."""

    tests: Mapping[str, LitmusTest]
    """The tests by name.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key title is missing)."""


@dataclass(frozen=True)
class SynthesisedFile:
    """spec/ordering/synthesised.yaml, which `ptxmma litmus --synthesise` prints."""

    tests: Mapping[str, SynthesisedTest]
    """The tests by name.
    Noticed by: tests. Example: `{}`. Refuses: `{mine: {}}` (the key program is missing)."""
