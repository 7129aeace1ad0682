"""Tables of what a device showed: measurements by instruction, and the arithmetic of products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ..devices.probes.arithmetic_probe import Dot
from ..devices.probes.arithmetic_summary import Summary, summary
from ..devices.probes.codes import significand
from ..formal.plans import arithmetic
from ..gen.kernels.kernel_list import Kernel
from ..ledger.chips import CommonGround, common_ground
from ..ledger.device_observations import current_cases, current_suite
from ..ledger.measured_points import judge
from ..ledger.silicon_record import Observed, Silicon, load_silicon
from ..ledger.silicon_verdicts import Judged, SiliconVerdict, anchor, by_mnemonic, silicon_verdicts
from ..ledger.strided_places import strided_verdicts
from ..spec.api import load
from ..spec.parts import element_type
from ..spec.specification import Specification
from ..spec.variants import Variant

__all__ = [
    "SiliconTables",
    "arithmetic_lines",
    "arithmetic_table",
    "dot_of",
    "measured_table",
    "named_by",
    "print_arithmetic",
    "shown_by_devices",
]


def measured_table(
    specification: Specification, subjects: Mapping[str, Observed]
) -> list[tuple[str, int, int, int, tuple[str, ...]]]:
    """A line for each kind of measurement and instruction: kernels, points, how many agree, the first that
    differ.
    """
    known = by_mnemonic(specification)
    found: dict[str, tuple[int, int, int, tuple[str, ...]]] = {}
    for name, observed in subjects.items():
        variant = known[observed.kernel.split()[0]]
        what = f"{name.split(': ')[0]}: {variant.row.family.instruction.instruction}"
        points, faults = judge(specification, variant, name.split(": ")[0], observed.kernel, observed.values)
        kernels, all_points, agree, first = found.get(what, (0, 0, 0, ()))
        shown = (*first, *(f"{observed.kernel}: {fault}" for fault in faults[:2]))
        found[what] = kernels + 1, all_points + points, agree + points - len(faults), shown
    return [(what, *rest) for what, rest in found.items()]


def dot_of(specification: Specification, variant: Variant, kernel: str) -> Dot:
    """The products of a recorded kernel, to read its record; nothing is launched."""
    form, *settings = kernel.split()[1:] if len(variant.row.row.forms) > 1 else ["", *kernel.split()[1:]]
    values = {name: int(value) for name, value in (setting.split("=") for setting in settings)}
    emitted = Kernel("raw", variant, form or variant.row.row.forms[0], values)
    return Dot(specification, emitted, _Nothing())


class _Nothing:
    """The launcher of a `Dot` that only reads a record."""

    def launch(self, kernel: Any, batch: Any) -> Any:
        raise NotImplementedError


def arithmetic_table(specification: Specification, observed: Mapping[str, Observed]) -> list[dict[str, Any]]:
    """One line a kernel: what its patterns show, and whether the text's guarantees hold."""
    known = by_mnemonic(specification)
    lines = []
    for one in observed.values():
        variant = known[one.kernel.split()[0]]
        dot = dot_of(specification, variant, one.kernel)
        found = summary(dot, one.values)
        lines.append(
            {
                "kernel": variant.mnemonic,
                "dtype": dot.types["D"],
                "bits": f"{found.bits}{' or more' if found.all else ''}",
                "bits of C": str(min(found.bits_c, found.bits_small_c)),
                "dropped": found.dropped,
                "halves": found.halves,
                "result": found.rounding_c,
                "block": found.block,
                "guaranteed": verdict(specification, variant, found),
                "specials": dict(found.specials),
            }
        )
    return lines


def verdict(specification: Specification, variant: Variant, found: Summary) -> str:
    """Whether sums keep the significand bits that the row's clauses promise; and whether sums in single
    precision keep fewer than it has."""
    wanted = arithmetic(specification, variant).sums.bits
    kept = min(found.bits, found.bits_c, found.bits_small_c) + 1
    result = element_type(variant, "D")
    single = significand(specification, result)
    below = "; below single precision" if single == _SINGLE and kept < single else ""
    return f"{'kept' if kept >= wanted else 'NOT kept'}: {wanted} bits{below}"


@dataclass
class SiliconTables:
    """What the recorded devices say about today's claims, and which of today's cases they passed."""

    silicon: Sequence[Silicon]
    verdicts: list[SiliconVerdict]
    cases: list[tuple[str, str, str, int, int]]  # device, way, row, cases, of them passed
    common: Sequence[CommonGround] = ()

    @property
    def failed(self) -> bool:
        """Whether anything differs from the claims, is stale or no longer claimed, or did not pass."""
        others = any(kept["others"] for silicon in self.silicon for kept in silicon.cases.values())
        return (
            others
            or any(v.state != "agrees" for v in self.verdicts)
            or any(count != passed for *_, count, passed in self.cases)
        )

    def as_json(self) -> list[dict[str, Any]]:
        """The verdicts as JSON, in the form of the assemblers' verdicts."""
        measured = [
            _entry(f"{v.what}: {v.kernel}", " ".join(v.claims), v.device, v.state, v.points, v.differing)
            for v in self.verdicts
        ]
        return (
            measured
            + _common_entries(self.common)
            + [
                _entry(
                    f"cases: {row}",
                    "",
                    f"{device}, {via}",
                    "agrees" if n == passed else "stale",
                    n,
                    n - passed,
                )
                for device, via, row, n, passed in self.cases
            ]
        )

    def print(self) -> None:
        """Tables: what was measured by instruction, and the cases by way."""
        from rich.console import Console
        from rich.table import Table

        console = Console(width=None if Console().is_terminal else 110, highlight=False)
        if not self.silicon:
            console.print("UNRECORDED: no device; `ptxmma run --record` measures one, and records")
        for silicon in self.silicon:
            device = silicon.device
            title = f"{device.name}, driver {device.driver}, {device.date}"
            table = Table(
                "measured",
                "kernels",
                "points",
                "differ",
                "stale",
                "unseen",
                "unclaimed",
                "named by",
                title=title,
            )
            for what, found in _by_instruction(self.verdicts, device.name).items():
                counts = [
                    len(found),
                    sum(v.points for v in found),
                    sum(v.differing for v in found),
                    sum(v.state == "stale" for v in found),
                    sum(v.state == "unseen" for v in found),
                    sum(v.state == "unclaimed" for v in found),
                ]
                table.add_row(what, *map(str, counts), named_by(load(), what))
            console.print(table)
            for via, kept in silicon.cases.items():
                console.print(
                    f"cases via {via}: {kept['count']} passed, {len(kept['others'])} others recorded"
                )
        for line in common_lines(self.common):
            console.print(line, markup=False, soft_wrap=True)
        for v in self.verdicts:
            if v.state in _WORDS:
                console.print(f"{_WORDS[v.state]}: {v.what}: {v.kernel}, {v.device}", markup=False)
            for line in v.first:
                console.print(
                    f"DIFFERS: {v.what}: {v.kernel}, {v.device}: {line}", markup=False, soft_wrap=True
                )
        for device_name, via, row, count, passed in self.cases:
            if count != passed:
                console.print(
                    f"STALE: {row}, {device_name}, via {via}: {count - passed} of {count} cases unseen"
                )
        if self.cases:
            total = sum(count for *_, count, _ in self.cases)
            console.print(
                f"today's cases by row: {total}, {sum(c[-1] for c in self.cases)} of them recorded as passed "
                "(one that loads, multiplies and stores is of three rows)"
            )


def arithmetic_lines(table: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The arithmetic table's head and rows, as text."""
    names = ("bits", "bits of C", "dropped", "halves", "result", "block", "guaranteed")
    rows = [(row["kernel"], row["dtype"], *(str(row[name]) for name in names)) for row in table]
    return ("products", "D", *names), rows


_SINGLE = 24  # bits of the significand in single precision
_SPECIALS = (
    "-0 + -0",
    "1 - 1",
    "nan a",
    "nan c",
    "inf c",
    "inf * 0",
    "inf - inf",
    "overflow",
    "overflow and back",
)


def special_lines(table: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows: the results for subnormals, zeros, NaN and infinities; kernels that behave alike share a
    row.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in table:
        found = row["specials"]
        letters = [letter for letter in "abcd" if f"subnormal {letter}" in found]
        lost = [letter.upper() for letter in letters if not int(found[f"subnormal {letter}"], 16)]
        kept = f"kept; not of {', '.join(lost)}" if lost else "kept"
        cells = (row["dtype"], kept, *(found.get(name, "-") for name in _SPECIALS))
        alike.setdefault(cells, []).append(row["kernel"])
    rows = [
        (f"{first}{f' and {len(others)} more' if others else ''}", *cells)
        for cells, (first, *others) in alike.items()
    ]
    return ("products", "D", "subnormals", *_SPECIALS), rows


_NAMES = 36  # characters of a mnemonic in one line


def print_arithmetic(console: Any, table: Sequence[Mapping[str, Any]], device: str) -> None:
    """Two tables: what products and sums keep, and special values as bit patterns of D."""
    from rich.table import Table

    titles = (
        f"{device}: bits kept below the leading one of the greatest term",
        f"{device}: special values, as bit patterns of D",
    )
    for title, (head, rows) in zip(titles, (arithmetic_lines(table), special_lines(table)), strict=True):
        shown = Table(*head, title=title)
        shown.columns[0].min_width = _NAMES
        for column in shown.columns:
            column.overflow = "fold"
        for row in rows:
            shown.add_row(*row)
        console.print(shown)


def _entry(claim: str, digest: str, release: str, state: str, points: int, differing: int) -> dict[str, Any]:
    return {
        "claim": claim,
        "digest": digest,
        "release": release,
        "state": state,
        "points": points,
        "differing": differing,
        "unregistered": differing,
    }


_WORDS = {
    "stale": "STALE",
    "unseen": "UNSEEN",
    "unclaimed": "UNCLAIMED (recorded, no longer claimed)",
}


def common_lines(common: Sequence[CommonGround]) -> list[str]:
    """What several devices showed alike, a line a kind of thing, and what they did not."""
    lines = [str(one) for one in common]
    return lines + [f"NOT THE SAME: {one.what}: {name}" for one in common for name in one.different]


def _common_entries(common: Sequence[CommonGround]) -> list[dict[str, Any]]:
    """What devices have in common; a difference between them contradicts no claim, so it is registered."""
    entries = []
    for one in common:
        state = "differs" if one.different else "agrees"
        points, differing = len(one.alike) + len(one.different), len(one.different)
        entry = _entry(f"alike: {one.what}", "", ", ".join(one.devices), state, points, differing)
        entries.append({**entry, "unregistered": 0})
    return entries


def _by_instruction(verdicts: Sequence[SiliconVerdict], device: str) -> dict[str, list[SiliconVerdict]]:
    found: dict[str, list[SiliconVerdict]] = {}
    for verdict in verdicts:
        if verdict.device == device:
            instruction = instruction_of(verdict.kernel)
            found.setdefault(f"{verdict.what}: {instruction}", []).append(verdict)
    return found


def instruction_of(kernel: str) -> str:
    """The instruction of a kernel's id."""
    mnemonic = kernel.split()[0]
    names = sorted(load().instructions, key=len, reverse=True)
    return next(name for name in names if mnemonic.startswith(name))


def named_by(specification: Specification, what: str) -> str:
    """What names the rows, columns and k of measurements (`maps: INSTRUCTION`)."""
    return anchor(specification, specification.instructions[what.split(": ")[-1]])


def shown_by_devices(specification: Specification, rows: AbstractSet[str], cases: bool) -> SiliconTables:
    """The verdicts of every recorded device on these rows; with `cases`, today's suite against the record."""
    recorded = load_silicon()
    found: list[SiliconVerdict] = []
    judged: dict[tuple[str, str], Judged] = {}
    today: dict[tuple[str, str], dict[str, str]] = {}
    counted: list[tuple[str, str, str, int, int]] = []
    for silicon in recorded:
        key = silicon.device.target, silicon.device.driver
        if key not in today:
            today[key] = current_cases(specification, silicon.device, rows)
        found += silicon_verdicts(specification, silicon, today[key], judged=judged)
        found += strided_verdicts(specification, silicon)
        if cases:
            by_row = current_suite(specification, silicon.device, rows)
            for via in silicon.cases:
                passed = silicon.passed(via)
                for row, hashes in by_row.items():
                    seen = sum(one in passed for one in hashes)
                    counted.append((silicon.device.name, via, row, len(hashes), seen))
    return SiliconTables(recorded, found, counted, common_ground(recorded))
