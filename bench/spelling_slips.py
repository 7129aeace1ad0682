"""One slip in the spelling of a right kernel: a word, an operand, a number, the target or the version.

Each slip is what a person or a generator of PTX gets wrong; for each, some rule must say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MMA = r"mma\.sync\.aligned[\w.:]*"
_WAIT = r"wgmma\.wait_group\.sync\.aligned"
_LAST = r"\{(%\w+), (%\w+)\}"
# kind; what is looked for (the first place counts); what stands there instead
SLIPS = (
    ("target lowered", r"\.target sm_90a", ".target sm_90"),
    ("version lowered", r"\.version 8\.\d(?=\s+\.target sm_(?:89|12))", ".version 8.3"),
    ("version before target", r"\.version \S+(?=\s+\.target sm_90a)", ".version 7.6"),
    (".aligned dropped", r"wmma\.mma\.sync\.aligned\.", "wmma.mma.sync."),
    ("qualifiers dropped", r"wgmma\.fence\.sync\.aligned;", "wgmma.fence;"),
    ("qualifier twice", r"wgmma\.fence\.sync\.aligned;", "wgmma.fence.sync.aligned.aligned;"),
    ("unknown qualifier", r"wgmma\.fence\.sync\.aligned;", "wgmma.fence.sync.aligned.relaxed;"),
    ("letter swapped", r"wgmma\.fence\.sync\.aligned;", "wgmma.fense.sync.aligned;"),
    ("number dropped", rf"{_WAIT}\s+\d;", "wgmma.wait_group.sync.aligned;"),
    ("register for number", rf"{_WAIT}\s+\d;", "wgmma.wait_group.sync.aligned %r1;"),
    ("number below range", rf"{_WAIT}\s+\d;", "wgmma.wait_group.sync.aligned -1;"),
    ("layout dropped", r"(mma\.sync\.aligned\.m\w+\.row)\.col", r"\1"),
    ("type dropped", r"\.f32\.(f16|bf16)\.\1\.f32 ", r".f32.\1.f32 "),
    ("type swapped", r"(\.f32)\.f16\.f16(\.f32 )", r"\1.f16.bf16\2"),
    ("saturated", r"(mma\.sync\.aligned\.m\w+\.row\.col)(\.f32)", r"\1.satfinite\2"),
    ("register dropped", rf"(^\s*{_MMA}.*?){_LAST}", r"\1{\2}"),
    ("sink as source", rf"(^\s*{_MMA}.*?){_LAST}", r"\1{\2, _}"),
    ("float as source", rf"(^\s*{_MMA}.*?){_LAST}", r"\1{%f1, \3}"),
    ("literal as result", rf"(^\s*{_MMA}\s+\{{%\w+, %\w+, %\w+, )%\w+\}}", r"\g<1>0f00000000}"),
    ("only sinks", rf"(^\s*{_MMA}\s+)\{{%\w+, %\w+, %\w+, %\w+\}}", r"\1{_, _, _, _}"),
    ("guard of a number", r"^(\s*)(ldmatrix)", r"\1@%r6 \2"),
    ("absolute address", r"(ldmatrix\S+\s+\{[^}]*\}, )\[%\w+\]", r"\1[1024]"),
    ("scaled address", r"(ldmatrix\S+\s+\{[^}]*\}, \[%\w+)\]", r"\1*2]"),
    ("block halved", r"\.reqntid 128(?=[^}]*wgmma)", ".reqntid 64"),
    ("reserved bit set", r"4611686293305294848", "4616189892932665344"),
    ("code repeated", r"1145324612", "1145324608"),
    ("misspelt", r"^(\s*)ldmatrix\.", r"\1ldmatirx."),
    ("row moved", r"(ldmatrix\S+\s+\{[^}]*\}, )\[%r8\]", r"\1[%r6+8]"),
    (
        "constant rows",
        r"^\s*ldmatrix(\S+)\.shared(\S+\s+\{[^}]*\}, )\[%r8\]",
        r"\tmov.u64 %rd9, table;\n\tldmatrix\1\2[%rd9]",
    ),
    (
        "descriptor moved",
        r"and\.b32(\s+)%r6, %r2, 262128;",
        r"add.s32\1%r8, %r2, 8;\n\tand.b32\1%r6, %r8, 262143;",
    ),
    ("operation dropped", r"\.xor\.popc", ".popc"),
    (
        "accumulators widened",
        r"(m8n8k4\S*\.f16\.f16)\.f16( .*)\{[^}]*\};",
        r"\1.f32\2{%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};",
    ),
    ("stride by lane", r"(wmma\.store\S+\s+\[%\w+\], \{[^}]*\}, )%r1;", r"\1%r18;"),
)


def slips(text: str) -> Iterator[tuple[str, int, str]]:
    """Kind, line and text of each kernel that differs from a right one in one slip."""
    for kind, pattern, instead in SLIPS:
        made, count = re.subn(pattern, instead, text, count=1, flags=re.MULTILINE)
        if count:
            found = re.search(pattern, text, re.MULTILINE)
            assert found is not None
            yield kind, text[: found.end()].count("\n") + 1, made
