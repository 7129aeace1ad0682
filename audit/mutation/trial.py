"""Judge one slip: who notices it first, from the loader to the dearest witness.

A trial changes what this process reads, for good: it runs in a forked process.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from typing import Literal

from ...formal.mutation.slips import Slip, changed_root
from ...gen.litmus.litmus_tests import written
from ...gen.litmus.phase_tests import phase_suite
from ...ledger.contradictions import register
from ...spec.api import load
from ...spec.arithmetic import arithmetic
from ...spec.errors import PtxmmaError, SpecError
from ...spec.instead import keep_others, read_instead
from ...spec.ordering import ordering
from .baseline import Baseline
from .concerned import DEAR, asked
from .corpus import READERS, noticed_by
from .equality import equal
from .meaning import meaning, plain
from .witnesses import DEAR_PARTS, WITNESSES, Changed

__all__ = ["SlipOutcome", "SlipVerdict", "find_caches", "trial"]

SlipVerdict = Literal["noticed", "equal", "readers", "survives", "crash", "placeless", "timeout"]
# Values of their arguments alone: a slip does not change them.
_PURE = frozenset(
    {
        "audit.mutation.hand_tables",
        "formal.theorems.exactness",
        "spec.expressions",
        "spec.field_docs",
        "spec.nodes",
        "spec.statements",
    }
)


@dataclass(frozen=True)
class SlipOutcome:
    """What became of a slip: who noticed it, or why nobody need, and the processor seconds it took.

    `crash`: a witness died of it. `placeless`: the loader refused it, and did not say where.
    """

    slip: Slip
    verdict: SlipVerdict
    by: str
    why: str
    seconds: float

    @property
    def open(self) -> bool:
        """Whether something is left to mend: nobody noticed, or not as it should be."""
        return self.verdict not in ("noticed", "equal", "readers")


def trial(base: Baseline, slip: Slip) -> SlipOutcome:
    """The outcome of one slip; this process reads the changed file from now on."""
    begun = time.process_time()
    stage = ["loader"]
    try:
        verdict, by, why = _judge(base, slip, stage)
    except SpecError as error:
        placed = error.place is not None
        verdict, by, why = ("noticed" if placed else "placeless"), stage[0], error.render()
    except PtxmmaError as error:
        verdict, by, why = "placeless", stage[0], str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        verdict, by = "crash", stage[0]
    return SlipOutcome(slip, verdict, by, why, time.process_time() - begun)


def _judge(base: Baseline, slip: Slip, stage: list[str]) -> tuple[SlipVerdict, str, str]:
    if slip.kind == "text" and READERS in noticed_by(slip.field):
        return "readers", READERS, "documentation"
    corpus = base.corpus
    root, _ = corpus.nodes[slip.file]
    before = base.said[slip.file]
    forget()
    read_instead({corpus.root / name: node for name, (node, _) in corpus.nodes.items()})
    read_instead({corpus.root / slip.file: changed_root(root, slip)})
    keep_others(corpus.root, base.specification, frozenset({slip.file}))
    after = plain(meaning(slip.file))
    if slip.file.startswith("spec/ordering/") or (slip.file == "specs.yaml" and "ordering" in slip.path):
        ordering()
        written()
        phase_suite()
    if slip.file == "specs.yaml" and "arithmetic" in slip.path:
        arithmetic()
    if slip.file in ("contradictions.yaml", "specs.yaml"):
        register()
    if before == after:
        return "equal", "loader", "the same meaning"
    folders = ("spec/ordering/", "spec/arithmetic/")
    apart = slip.file.startswith(folders) or slip.file in ("spec/effects.yaml", "check/rules.yaml")
    changed = Changed(base, base.specification if apart else load(), slip.file)
    stage[0] = "proofs"
    if equal(changed):
        return "equal", "proofs", "proven equal as a function"
    for name in asked(slip.file):
        stage[0] = DEAR.get(name, name)
        said = {**WITNESSES, **DEAR_PARTS}[name](changed)
        if said is not None:
            return "noticed", stage[0], said
    return "survives", "", ""


_CACHES: list[_lru_cache_wrapper[object]] = []


def find_caches() -> None:
    """List the functions of this package that remember what they read, and clear them: processes forked
    later have less to clear.
    """
    _CACHES[:] = _caches()
    forget()


def forget() -> None:
    """Clear whatever functions of this package remember of the files."""
    for function in _CACHES or _caches():
        if function.cache_info().currsize:
            function.cache_clear()


def _caches() -> Iterator[_lru_cache_wrapper[object]]:
    package = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and name.removeprefix(f"{package}.") not in _PURE:
            for value in list(vars(module).values()):
                if isinstance(value, _lru_cache_wrapper):
                    yield value
