"""May a block end while another block of its cluster accesses its shared memory?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..findings import LIKELY, Finding, Moment
from ..ptx.decode import DecodedFunction
from ..ptx.source import PtxModule
from ..rules import rules
from .execution import Execution
from .sent_acts import Sent

__all__ = ["cluster_ends", "unawaited"]

_ENDS = frozenset(("leave", "abort"))


def unawaited(found: Execution) -> Iterator[Sent]:
    """What an execution did to other blocks, and no thread of those waited for; none if other blocks may do
    something else and are not executed, too, or if threads may have waited for what others write to memory.
    """
    told = found.acts.blocks > 1 or found.is_alike
    if found.acts.sent and not found.plan.meetings.decide and found.is_complete and told:
        each = found.acts.count // found.acts.blocks
        left = found.acts.sent.unawaited(found.acts.blocks, found.acts.waits)
        yield from (replace(one, warp=one.warp % each) for one in left)


def cluster_ends(module: PtxModule, code: DecodedFunction, sent: Iterable[Sent]) -> Iterator[Finding]:
    """One finding, at the end of the function, for all that no thread waited for."""
    by_statement = {one.statement: one for one in sent}
    if not by_statement:
        return
    last = max(index for index in range(len(code)) if index == 0 or code.operation(index).does in _ENDS)
    first, rule = min(by_statement), rules()["cluster-ended"]
    one = by_statement[first]
    says = f"warp {one.warp} accesses another block of the cluster"
    places = [module.place(code.function.statements[index].offset) for index in (first, last)]
    yield Finding(
        "cluster-ended",
        LIKELY,
        places[1],
        code.function.name,
        f"{rule.title}: {says}, and no thread there waits for that before it ends",
        rule.section,
        rule.mend,
        (
            Moment(places[0], code[first].operation.opcode, says),
            Moment(places[1], code[last].operation.opcode, "ends, maybe before that"),
        ),
        more=len(by_statement) - 1,
    )
