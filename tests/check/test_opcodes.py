"""What opcodes do, against ptxas and a table typed by hand: opcodes.txt has a statement for each.

ptxas refuses a literal where an opcode writes its first operand. Which opcodes there are is asked of ptxas too: it
says "Not a name of any known instruction" of every other word.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from ptxmma.assemblers.toolchains import Ptxas, available
from ptxmma.spec.effects import RESULT, Action, load_effects
from ptxmma.spec.nodes import written_fields

WATCHES = ("spec/effects.yaml",)
NEWEST, OLDEST = "13.5.37", "11.7.99"
SETTINGS = {
    "": ("sm_90a", "9.5", NEWEST),
    "@old": ("sm_80", "7.7", OLDEST),
    "@new": ("sm_100a", "9.5", NEWEST),
}
REGISTERS = (
    ".reg .b32 %r<9>; .reg .b64 %q<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b16 %h<9>; .reg .pred %p<9>;"
)
LITERALS = {"f": "0f00000000", "d": "0d0000000000000000"}

# They jump, call or are asynchronous, and the specification or the shape of the statement says what they write.
NO_STATEMENT = {"bra", "brx", "call", "wgmma.mma_async"}
# Refused with a literal although the text calls the operand a source: it must be a register.
SOURCES = {"stackrestore"}
# ptxas 13.5.37 knows these names; no edition of the manual that we have read does.
NOT_IN_THE_TEXT = {"cctl", "cctlu", "spcompress", "spdecompress"}

ACTIONS = """
mov: move
ld: load
ldu: load
ldmatrix: load space=shared bytes=16
wmma.load: load
wmma.store: store
st: store
st.async: store space=shared
st.bulk: store space=shared
stmatrix: store space=shared bytes=16
red: update
red.async: update space=shared
atom: update
cp.async.ca: copy size=2
cp.async.cg: copy size=2
cp.async.commit_group: copy-commit
cp.async.wait_group: copy-wait count=0
cp.async.wait_all: copy-wait
cp.async.mbarrier.arrive: copy-arrive barrier=object
cp.async.bulk: bulk-copy barrier=object size=2 before=2 multiple=16 begins=16
cp.async.bulk.tensor: bulk-copy barrier=object before=2 begins=128 pairs=cta_group::2
cp.reduce.async.bulk: bulk-copy barrier=object size=2 before=2 multiple=16 begins=16
cp.reduce.async.bulk.tensor: bulk-copy barrier=object before=2 begins=128
clusterlaunchcontrol.try_cancel: bulk-copy space=shared bytes=16 barrier=object before=1 answer=given
clusterlaunchcontrol.query_cancel: nothing answer=asked
cp.async.bulk.commit_group: bulk-commit
cp.async.bulk.wait_group: bulk-wait count=0
mbarrier.init: init barrier=object count=1
mbarrier.inval: invalidate barrier=object
mbarrier.expect_tx: expect barrier=object size=1
mbarrier.complete_tx: give barrier=object size=1
mbarrier.arrive: arrive barrier=object count=2
mbarrier.arrive.expect_tx: arrive barrier=object size=2
mbarrier.arrive_drop: arrive barrier=object count=2
mbarrier.arrive_drop.expect_tx: arrive barrier=object size=2
mbarrier.try_wait: await barrier=object phase=2
mbarrier.test_wait: await barrier=object phase=2
bar.sync: meet barrier=named count=1 multiple=32 name=0 aligned=True
bar.red: meet barrier=named count=2 behind=1 multiple=32 name=1 aligned=True
bar.arrive: arrive barrier=named count=1 multiple=32 name=0 aligned=True
bar.cta.sync: meet barrier=named count=1 multiple=32 name=0 aligned=True
bar.cta.red: meet barrier=named count=2 behind=1 multiple=32 name=1 aligned=True
bar.cta.arrive: arrive barrier=named count=1 multiple=32 name=0 aligned=True
bar.warp.sync: meet barrier=warp mask=True
setmaxnreg: nothing warpgroup=True
barrier.sync: meet barrier=named count=1 multiple=32 name=0
barrier.red: meet barrier=named count=2 behind=1 multiple=32 name=1
barrier.arrive: arrive barrier=named count=1 multiple=32 name=0
barrier.cta.sync: meet barrier=named count=1 multiple=32 name=0
barrier.cta.red: meet barrier=named count=2 behind=1 multiple=32 name=1
barrier.cta.arrive: arrive barrier=named count=1 multiple=32 name=0
barrier.cluster.arrive: arrive barrier=cluster
barrier.cluster.wait: meet barrier=cluster
fence: memory-fence
membar: memory-fence
fence.proxy.async: proxy-fence
wgmma.mma_async: multiply
wgmma.fence: fence
wgmma.commit_group: commit
wgmma.wait_group: wait count=0
tcgen05.ld: fetch
tcgen05.wait::ld: fetch-wait
tcgen05.st: tensor-store
tcgen05.wait::st: tensor-store-wait
tcgen05.mma: tensor-multiply pairs=cta_group::2
tcgen05.cp: tensor-copy pairs=cta_group::2
tcgen05.shift: tensor-shift pairs=cta_group::2
tcgen05.fence::before_thread_sync: tensor-release
tcgen05.fence::after_thread_sync: tensor-fence
tcgen05.commit: arrive barrier=object pairs=cta_group::2
tcgen05.alloc: allocate space=shared bytes=4 count=1 pairs=cta_group::2
tcgen05.dealloc: deallocate count=1 pairs=cta_group::2
tcgen05.relinquish_alloc_permit: end-allocation pairs=cta_group::2
elect: elect mask=True
activemask: vote
vote: vote mask=True
match: vote mask=True
redux: vote mask=True
shfl: shuffle mask=True
mapa: map-address
bra: jump
brx: switch
ret: leave returns=True
exit: leave
trap: abort
call: call
"""
THREADS = (
    "laneid tid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt"  # 10.1, 10.2, 10.12 to 10.16
)
UNIFORM = """ctaid nctaid ntid nwarpid nsmid smid gridid clusterid nclusterid cluster_ctaid cluster_nctaid cluster_ctarank
cluster_nctarank is_explicit_cluster warpid dynamic_smem_size total_smem_size aggr_smem_size envreg
reserved_smem_offset_begin"""


def statements() -> dict[str, tuple[str, str]]:
    """By opcode, the setting and the statement of opcodes.txt."""
    found = {}
    for line in Path(__file__).with_name("opcodes.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            opcode, statement = line.split(" ", 1)
            at, _, bare = statement.partition(" ") if statement.startswith("@") else ("", "", statement)
            found[opcode] = at, bare
    return found


STATEMENTS = statements()


@cache
def ptxas(release: str) -> Ptxas:
    found = next((one for one in available() if one.version == release), None)
    if found is None:
        pytest.skip(f"NO PTXAS {release}: `ptxmma toolchain fetch {release}` brings it")
    return found


def said(at: str, lines: Sequence[str]) -> tuple[int, str]:
    """The exit code of ptxas for a kernel with these lines, and its words."""
    target, version, release = SETTINGS[at]
    wide = "" if at == "@old" else ".reg .b128 %o<3>;"
    head = (
        f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ {REGISTERS} {wide}\n"
    )
    command = [str(ptxas(release).path), f"-arch={target}", "/dev/stdin", "-o", "/dev/null"]
    ran = subprocess.run(
        command, input=head + "\n".join(lines) + "\nret; }\n", capture_output=True, text=True
    )
    return ran.returncode, ran.stderr


def test_every_opcode_has_a_statement() -> None:
    effects = load_effects()
    listed = {
        word
        for row in (*effects.results, *effects.effects, effects.calls, effects.asynchronous)
        for word in row
    }
    assert listed == STATEMENTS.keys() | NO_STATEMENT
    assert (effects.calls, effects.asynchronous) == (("call",), ("wgmma.mma_async",))


def test_every_action() -> None:
    found = {}
    for opcode, action in load_effects().actions.items():
        values = {name: getattr(action, name) for name in written_fields(Action) if name != "does"}
        found[opcode] = " ".join(
            [action.does, *(f"{k}={v}" for k, v in values.items() if v is not None and v is not False)]
        )
    lines = [line.split(": ") for line in ACTIONS.strip().splitlines()]
    assert found == dict(lines)


def test_special_registers_and_what_is_not_judged() -> None:
    effects = load_effects()
    assert " ".join(effects.threads) == THREADS
    assert effects.uniform_names == set(UNIFORM.split())
    left = (
        "where accesses of tensor memory lie, their order, and that of what is read of shared memory, where no "
        "execution follows them,"
    )
    arrives = "when its bytes arrive in the other block of the cluster, and what waits for them there,"
    assert effects.unjudged == {"tcgen05": left, "st.async": arrives, "red.async": arrives}


@pytest.mark.parametrize("at", SETTINGS)
def test_an_opcode_writes_its_first_operand_where_ptxas_takes_no_literal_there(at: str) -> None:
    """An address in the first place is read, whatever it is; an opcode without operands writes none."""
    effects, asked = (
        load_effects(),
        {opcode: text for opcode, (where, text) in STATEMENTS.items() if where == at},
    )
    code, words = said(at, list(asked.values()))
    assert code == 0, words
    writes = {}
    for opcode, statement in asked.items():
        operands = statement.rstrip(";").partition(" ")[2]
        literal = re.sub(r"%([a-z])\d", lambda found: LITERALS.get(found[1], "0"), statement, count=1)
        plain = operands.startswith(("%", "{")) and opcode not in SOURCES
        writes[opcode] = plain and said(at, [literal])[0] != 0
    assert any(writes.values())
    assert writes == {opcode: effects.kind(opcode) == RESULT for opcode in asked}


@pytest.mark.slow
def test_every_name_that_ptxas_knows_is_listed() -> None:
    """Words of its binary, a statement each; two that are no words of statements end a file and are left out."""
    binary = ptxas(NEWEST).path.read_bytes()
    words = sorted(
        {word.decode() for word in re.findall(rb"[a-z][a-z0-9_]{1,18}", binary)} | set(NO_STATEMENT)
    )
    names, known, rest = (
        re.compile(r"known instruction: '([^']*)'"),
        set(),
        [w for w in words if "." not in w],
    )
    while rest:
        part = rest[:4000]
        _, answer = said("", [f"{word} %x;" for word in part])
        fatal = re.search(r"line (\d+); (?:fatal|error) +: .*syntax error", answer)
        end = max(0, int(fatal[1]) - 5) if fatal else len(part)
        known |= set(part[:end]) - set(names.findall(answer))
        rest = rest[end + (1 if fatal else 0) :]
    assert len(known) > 100
    assert {word for word in known if load_effects().kind(word) is None} == NOT_IN_THE_TEXT
