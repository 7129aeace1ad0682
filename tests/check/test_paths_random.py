"""Random programs, each run on every input that matters: `check` reports an error where one of the runs has it.

The interpreter here shares nothing with `check`: it executes the program for each value of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from ptxmma.check.check_file import check_text

WATCHES = ("check/paths",)

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out,.param .u64 dA,.param .u64 dB,.param .u32 n,.param .u32 m)
.maxntid 128, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<16>;
ld.param.u64 %d0,[dA]; ld.param.u64 %d1,[dB]; ld.param.u64 %d2,[out]; ld.param.u32 %r0,[n]; ld.param.u32 %r1,[m];
mov.u32 %r2,0; mov.u32 %r3,0;
""" + "".join(f"setp.ne.u32 %p{number},0,0;\n" for number in range(8))
TEXTS = {
    "issue": "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%d0,%d1,1,1,1,0,0;",
    "commit": "wgmma.commit_group.sync.aligned;",
    "wait": "wgmma.wait_group.sync.aligned 0;",
    "use": "st.global.f32 [%d2],%f0;",
}
FENCE = "wgmma.fence.sync.aligned;"
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "gt": lambda a, b: a > b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
INPUTS = range(6)


@dataclass
class Program:
    """Statements: an action or a definition with its guard; a jump forward; a loop of known length."""

    lines: list[tuple[str, ...]] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join(self._line(line) for line in self.lines)

    @staticmethod
    def _line(line: tuple[str, ...]) -> str:
        kind, guard, *more = line
        prefix = f"@{guard} " if guard else ""
        match kind:
            case "set":
                return f"{prefix}mov.u32 {more[0]},{more[1]};"
            case "add":
                return f"{prefix}add.u32 {more[0]},{more[0]},{more[1]};"
            case "compare":
                return f"setp.{more[1]}.u32 {more[0]},{more[2]},{more[3]};"
            case "join":
                return f"{more[1]}.pred {more[0]},{more[2]},{more[3]};"
            case "label":
                return f"{more[0]}:"
            case "jump":
                return f"{prefix}bra {more[0]};"
        return f"{FENCE}\n{prefix}{TEXTS[kind]}" if kind == "issue" else f"{prefix}{TEXTS[kind]}"

    def collides(self, n: int, m: int) -> bool:
        """Whether an accumulator is read while its product is pending, for some values of the parameters."""
        values = {"%r0": n, "%r1": m, "%r2": 0, "%r3": 0, **{f"%p{i}": 0 for i in range(8)}}
        labels = {line[2]: at for at, line in enumerate(self.lines) if line[0] == "label"}
        open_, groups, at = False, False, 0

        def holds(name: str) -> bool:
            return not values[name[1:]] if name[:1] == "!" else bool(values[name])

        while at < len(self.lines):
            kind, guard, *more = self.lines[at]
            at += 1
            if guard and not holds(guard):
                continue
            match kind:
                case "set":
                    values[more[0]] = int(more[1])
                case "add":
                    values[more[0]] += int(more[1])
                case "compare":
                    values[more[0]] = int(COMPARE[more[1]](values[more[2]], int(more[3])))
                case "join":
                    left, right = holds(more[2]), holds(more[3])
                    values[more[0]] = int(left and right if more[1] == "and" else left or right)
                case "jump":
                    at = labels[more[0]]
                case "issue":
                    open_ = True
                case "commit":
                    open_, groups = False, groups or open_
                case "wait":
                    groups = False
                case "use":
                    if open_ or groups:
                        return True
        return False


def generated(seed: int) -> Program:
    random = Random(seed)
    program = Program()
    predicates: list[str] = []

    def guard() -> str:
        if not predicates or random.random() < 0.4:
            return ""
        return random.choice(("", "!")) + random.choice(predicates)

    def define() -> None:
        target = f"%p{random.randrange(1, 5)}"
        if len(predicates) > 1 and random.random() < 0.25:
            left, right = random.sample(predicates, 2)
            program.lines.append(("join", "", target, random.choice(("and", "or")), left, right))
        else:
            source = random.choice(("%r0", "%r0", "%r0", "%r1", "%r2"))
            operator = random.choice(tuple(COMPARE))
            program.lines.append(("compare", "", target, operator, source, str(random.randrange(1, 3))))
        if target not in predicates:
            predicates.append(target)

    def body(count: int, depth: int) -> None:
        for _ in range(count):
            choice = random.random()
            if choice < 0.3:
                define()
            elif choice < 0.4:
                program.lines.append(("set", guard(), "%r2", str(random.randrange(3))))
            elif choice < 0.55 and depth < 2 and predicates:
                label = f"L{len(program.lines)}"
                program.lines.append(("jump", guard() or random.choice(predicates), label))
                body(random.randrange(1, 4), depth + 1)
                program.lines.append(("label", "", label))
            elif choice < 0.6 and depth == 0:
                loop(random.randrange(2, 4))
            else:
                program.lines.append((random.choice(("issue", "commit", "wait", "wait", "use")), guard()))

    def loop(rounds: int) -> None:
        label = f"L{len(program.lines)}"
        program.lines.append(("set", "", "%r3", "0"))
        program.lines.append(("label", "", label))
        body(random.randrange(1, 4), 2)
        program.lines.append(("add", "", "%r3", "1"))
        program.lines.append(("compare", "", "%p7", "ne", "%r3", str(rounds)))
        program.lines.append(("jump", "%p7", label))

    for _ in range(2):
        define()
    body(random.randrange(5, 12), 0)
    program.lines.append(("use", guard()))
    return program


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, 240, 40)], ids=str)
def test_an_error_is_reported_where_a_run_has_one(seeds: range) -> None:
    seen = set()
    for seed in seeds:
        program = generated(seed)
        wanted = any(program.collides(n, m) for n in INPUTS for m in INPUTS)
        report = check_text(f"{HEAD}{program.text()}\nret;\n}}\n", "k.ptx")
        assert not report.faults, program.text()
        tiers = {f.tier for f in report.findings if f.rule != "first-fence"} & {"error", "likely"}
        assert tiers == ({"error"} if wanted else set()), f"seed {seed}, {wanted}:\n{program.text()}"
        seen.add(wanted)
    assert seen == {True, False}
