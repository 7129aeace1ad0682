"""Read the text of a PTX file into functions and statements: blank the comments, then one pass over the rest.

Text that cannot be read becomes a fault with its place; nothing is skipped in silence. Reading fails for a
file that does not begin with .version and .target, and where a comment, a string or a brace is not closed.
"""

from __future__ import annotations

import re
from math import prod
from sys import intern

from .plain_text import without_comments
from .source import NAME, Function, PtxModule, PtxScope, PtxStatement, UnreadableFile, UnreadText, Variable
from .unfinished import unfinished

__all__ = ["read_module"]

_SPACE = re.compile(r"\s*")
_STATEMENT = re.compile(
    r"""(?: (?P<label>[%$A-Za-z_][\w$]*)\s*:(?!:)
          | (?P<brace>[{}])
          | (?:@\s*(?P<not>!?)\s*(?P<guard>[%$A-Za-z_][\w$]*)\s*)?
            (?P<opcode>[A-Za-z_]\w*(?:(?:::|\s*\.\s*|(?<=\d):(?=\d))\w+)*)(?P<operands>[^;{}]*+(?:\{[^{};]*+\}[^;{}]*+)*);
          | (?P<directive>\.[a-z_]\w*)
        )\s*""",
    re.X,
)
_MODULE = re.compile(r"(?P<directive>\.[a-z_]\w*)|(?P<other>[^\s.])")
_TO_LINE_END = re.compile(r"[^\n]*")
_TO_SEMICOLON = re.compile(r"[^;]*;")
_HEAD = re.compile(r"[^{;]*")
_HEAD_NAME = re.compile(r"\s*(?:\(([^()]*)\))?\s*([%$A-Za-z_][\w$]*)\s*(?:\(([^()]*)\))?")
_REGISTERS = re.compile(r"\.reg\s*((?:\.\w+\s*)+)([^;]*);")
_DECLARED = re.compile(r"\s*([%$A-Za-z_][\w$]*)\s*(?:<\s*(\d+)\s*>)?\s*$")
_VARIABLE = re.compile(
    r"\.(?P<space>shared|global|const|local|param)\b(?P<rest>[^;={]*)(?:=[^;]*)?;",
)
_VARIABLE_NAME = re.compile(r"([%$A-Za-z_][\w$]*)\s*((?:\[[^\]]*\]\s*)*)\s*$")
_ALIGN = re.compile(r"\.align\s+(\d+)")
_SIZED = re.compile(r"\.[a-z](\d+)")
_PLANE = re.compile(r"%tid\.[yz]\b")  # a block that does not lie along x
_MOST_THREADS = 1024  # of a block
_THREADS = re.compile(r"\.(reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_LINKING = frozenset((".visible", ".extern", ".weak", ".common"))
# Directives that no semicolon ends.
_HEADS = {
    ".version": re.compile(r"\.version\s+(\d+\.\d+)(?![\w.])"),
    ".target": re.compile(r"\.target\s+(\w+)(?:\s*,\s*\w+)*"),
    ".address_size": re.compile(r"\.address_size\s+(\d+)"),
}
_WANTED = {
    ".version": "two numbers, such as 8.4",
    ".target": "a target, such as sm_90a",
    ".address_size": "a number, such as 64",
}
_LINES = {
    ".file": re.compile(r'\.file\s+\d+\s+"[^"]*"(?:\s*,\s*\d+\s*,\s*\d+)?'),
    ".loc": re.compile(
        r"\.loc(?:\s+\d+){3}(?:\s*,\s*function_name\s+[%$\w]+(?:\s*\+\s*\d+)?)?"
        r"(?:\s*,\s*inlined_at(?:\s+\d+){3})?"
    ),
    ".loc_intermediate": re.compile(r"\.loc_intermediate(?:\s+\d+){3}"),
}
_OF_BOTH = (".const", ".global", ".local", ".param", ".pragma", ".reg", ".shared", ".sreg", ".tex")
_OF_MODULES = frozenset((*_OF_BOTH, ".alias", ".attribute", ".samplerref", ".surfref", ".texref"))
_OF_BODIES = frozenset((*_OF_BOTH, ".branchtargets", ".callprototype", ".calltargets", ".loc_intermediate"))
_TWO_DIRECTIVES = re.compile(r'[\w$\]>"]\s*\n\s*[.@%$A-Za-z_]')
_VECTORS = frozenset(("v2", "v4"))
# Sources of the language that PTX was compiled from, each a block of its own.
_SOURCES = re.compile(r"\.nv_intermediate_source_section\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_SINCE = dict.fromkeys((".loc_intermediate", ".nv_intermediate_source_section"), "9.4")
_TABLES = frozenset((".branchtargets", ".calltargets"))  # names stand behind them, on further lines, too


def read_module(text: str, name: str) -> PtxModule:
    """Read a file; raises UnreadableFile (a Question) when it is not PTX at all."""
    return _Reader(text, name).read()


class _Reader:
    """A position in the text, comments blanked."""

    def __init__(self, text: str, name: str) -> None:
        self.module = PtxModule(name, text)
        self.text = without_comments(text, self.refuse)
        self.position = 0
        self.linking: tuple[int, str] | None = None

    def refuse(self, offset: int, what: str) -> UnreadableFile:
        return UnreadableFile(self.module.place(offset), what)

    def fault(self, offset: int, what: str) -> None:
        self.module.faults.append(UnreadText(self.module.place(offset), what))

    def read(self) -> PtxModule:
        text, end = self.text, len(self.text)
        unread = -1
        while True:
            self.position = _SPACE.match(text, self.position).end()  # type: ignore[union-attr]
            if self.position >= end:
                break
            found = _MODULE.match(text, self.position)
            word = found["directive"] if found else None
            if word is None:
                if not self.module.version:
                    raise self.refuse(
                        self.position, "this is not PTX: a PTX file begins with .version, then .target"
                    )
                self._linked()
                if unread < 0:
                    self.fault(self.position, f"{self._shown()} is not a directive of a module")
                unread = self.position
                self._skip()
                continue
            unread = -1
            if not self.module.version and word != ".version":
                raise self.refuse(self.position, "this is not PTX: .version must come first")
            self._directive(word)
        if not self.module.version:
            raise self.refuse(0, "this is not PTX: it has no .version")
        if not self.module.target:
            raise self.refuse(0, "the file has no .target")
        self._linked()
        return self.module

    def _linked(self) -> None:
        """A fault when .visible, .extern, … stood before nothing."""
        if self.linking is not None:
            self.fault(self.linking[0], f"nothing follows {self.linking[1]}; the file may be cut off here")
            self.linking = None

    def _shown(self) -> str:
        found = _TO_LINE_END.match(self.text, self.position)
        return self._first_line(found[0]) if found else ""

    @staticmethod
    def _first_line(text: str) -> str:
        line = text.strip().partition("\n")[0].rstrip()
        return repr(line[:40] + ("…" if len(line) > 40 else ""))

    def _skip(self) -> None:
        """Move behind the next line end, semicolon or closing brace."""
        found = re.compile(r"[^\n;}]*[\n;}]?").match(self.text, self.position)
        self.position = max(found.end() if found else 0, self.position + 1)

    def _directive(self, word: str) -> None:
        start = self.position
        if word in _LINKING:
            self.position, self.linking = start + len(word), (start, word)
            return
        self.linking = None
        if word in _HEADS:
            self._head(word)
            return
        if word in _LINES and word not in _OF_BODIES:
            self.position = self._line(word, start)
            return
        if word in (".entry", ".func"):
            self._function(word)
            return
        if word == ".section":
            closing = self.text.find("}", start)
            if closing < 0:
                raise self.refuse(start, "the section is not closed; a '}' is missing")
            self.position = closing + 1
            return
        found = _SOURCES.match(self.text, start)
        if found:
            self._needed_version(word, start)
            self.position = found.end()
            return
        found = _VARIABLE.match(self.text, start)
        if found:
            self._variable(found, self.module.variables)
            self.position = found.end()
            return
        found = _TO_SEMICOLON.match(self.text, start)
        if found is None:
            raise self.refuse(start, f"{word} is not ended by ';'")
        if word not in _OF_MODULES:
            self.fault(start, f"{word} is not a directive of a module")
        self.position = found.end()

    def _head(self, word: str) -> None:
        """.version, .target or .address_size; each may stand once."""
        start, module = self.position, self.module
        found = _HEADS[word].match(self.text, start)
        if found is None:
            raise self.refuse(start, f"{word} must be followed by {_WANTED[word]}")
        if (word == ".version" and module.version) or (word == ".target" and module.target):
            raise self.refuse(start, f"a second {word} in one file; check each module as a file of its own")
        if word == ".version":
            module.version = found[1]
        elif word == ".target":
            module.target = found[1]
        module.heads[word] = start
        self.position = found.end()

    def _needed_version(self, word: str, start: int) -> None:
        """A fault when the file's version of PTX does not know the directive yet."""
        since = _SINCE.get(word)
        if since is not None and _numbers(self.module.version) < _numbers(since):
            self.fault(start, f"{word} needs .version {since} or later")

    def _line(self, word: str, start: int) -> int:
        """A directive of _LINES; returns where it ends. What is of another form ends with its line."""
        self._needed_version(word, start)
        found = _LINES[word].match(self.text, start)
        if found is None:
            found = _TO_LINE_END.match(self.text, start)
            if found and (";" in found[0] or "{" in found[0]):
                self.fault(start, f"{found[0].strip()[:40]!r} is not a {word} directive")
        return found.end() if found else start

    def _variable(self, found: re.Match[str], into: dict[str, Variable]) -> None:
        rest = found["rest"]
        align = _ALIGN.search(rest)
        plain = _ALIGN.sub(" ", rest)
        sized = _SIZED.search(plain)
        bits = int(sized[1]) if sized else 8
        for item in plain.split(","):
            named = _VARIABLE_NAME.search(item)
            if named is None:
                continue
            size: int | None = bits // 8
            for extent in re.findall(r"\[\s*(\d*)\s*\]", named[2]):
                size = size * int(extent) if extent and size is not None else None
            into[named[1]] = Variable(named[1], found["space"], int(align[1]) if align else bits // 8, size)

    def _function(self, word: str) -> None:
        start = self.position
        found = _HEAD.match(self.text, start)
        head = found[0] if found else ""
        named = _HEAD_NAME.match(head, len(word))
        self.position = start + len(head)
        if self.position >= len(self.text):
            raise self.refuse(start, f"{word} has neither a body nor a ';'")
        if self.text[self.position] == ";":
            self.position += 1
            return
        if named is None:
            raise self.refuse(start, f"{word} has no name")
        function = Function(named[2], word[1:], start)
        function.returns, function.parameters = _declared_names(named[1]), _declared_names(named[3])
        threads = _THREADS.search(head)
        if threads:
            x, y, z = (int(part) if part else 1 for part in threads.groups()[1:])
            if 0 < x * y * z <= _MOST_THREADS:
                function.threads, function.exact = (x, y, z), threads[1] == "reqntid"
        cluster = _CLUSTER.search(head)
        if cluster:
            x, y, z = (int(part) if part else 1 for part in cluster.groups())
            function.cluster = x, y, z
        for item in re.finditer(r"\.reg\s*((?:\.\w+\s*)+)([^,();]*)", head):
            self._declare(function.scopes[0], item[1], item[2], start)
        self.module.functions.append(function)
        self.position += 1
        self._body(function, self.position - 1)
        if not function.exact and _PLANE.search(self.text, start, self.position):
            # .maxntid limits the product of the extents (11.4.2), so a block may have any shape.
            function.most = None if function.threads is None else prod(function.threads)
            function.threads, function.plane = None, True

    def _declare(self, scope: PtxScope, kinds: str, names: str, offset: int) -> None:
        words = [word.strip() for word in kinds.split(".")]
        kind = intern(".".join(words[-2:] if words[-2] in _VECTORS else words[-1:]))
        for item in names.split(","):
            found = _DECLARED.match(item)
            if found is None:
                self.fault(offset, f"{item.strip()!r} is not a register name")
            elif found[2] is not None:
                scope.ranges[found[1]] = kind, int(found[2])
            else:
                scope.registers[found[1]] = kind
                if words[-2] in _VECTORS:
                    scope.registers.update((f"{found[1]}.{part}", words[-1]) for part in "xyzw")

    def _body(self, function: Function, opened: int) -> None:
        text = self.text
        match = _STATEMENT.match
        statements = function.statements
        scopes = function.scopes
        position = _SPACE.match(text, self.position).end()  # type: ignore[union-attr]
        scope = 0
        last_label = ""
        while True:
            found = match(text, position)
            if found is None:
                if position >= len(text):
                    raise self.refuse(opened, f"the body of {function.name} is not closed; a '}}' is missing")
                self.position = position
                self.fault(position, f"{self._shown()} is no PTX statement")
                self._skip()
                if text[self.position - 1] == "}":
                    self.position -= 1
                position = _SPACE.match(text, self.position).end()  # type: ignore[union-attr]
                continue
            opcode, operands, guard = found.group("opcode", "operands", "guard")
            if opcode is not None:
                if guard is not None:
                    guard = intern(found["not"] + guard)
                position = found.end()
                part = unfinished(opcode, operands)
                if part is not None:
                    self.fault(found.start(), f"a ';' is missing in or behind {self._first_line(found[0])}")
                    opcode, operands = part.opcode, part.operands
                    if part.end is not None:
                        position = found.start("opcode") + part.end
                written = None
                if " " in opcode or "\t" in opcode or "\n" in opcode:
                    written, opcode = opcode, "".join(opcode.split())
                operands = operands.strip()
                statements.append(
                    PtxStatement(found.start(), intern(opcode), operands, guard, scope, written)
                )
                continue
            position = found.end()
            brace, label = found["brace"], found["label"]
            if brace == "{":
                scopes.append(PtxScope(scope))
                scope = len(scopes) - 1
            elif brace == "}":
                if scope == 0:
                    self.position = position
                    return
                scope = scopes[scope].parent
            elif label is not None:
                if label in scopes[scope].labels:
                    self.fault(found.start(), f"the label {label} stands twice in one scope")
                scopes[scope].labels[label] = len(statements)
                last_label = label
            else:
                position = self._inner(found, function, scope, last_label)

    def _inner(self, found: re.Match[str], function: Function, scope: int, label: str) -> int:
        """A directive inside a body; returns the position behind it."""
        text, start, word = self.text, found.start(), found["directive"]
        if word in _LINES:
            return _SPACE.match(text, self._line(word, start)).end()  # type: ignore[union-attr]
        ended = _TO_SEMICOLON.match(text, start)
        if ended is None:
            self.fault(start, f"{word} is not ended by ';'")
            return _SPACE.match(text, found.end()).end()  # type: ignore[union-attr]
        if word not in _OF_BODIES:
            self.fault(start, f"{word} is not a directive of a function's body")
        elif "\n" in ended[0] and _TWO_DIRECTIVES.search(ended[0], len(word) if word in _TABLES else 0):
            self.fault(start, f"a ';' is missing behind {self._first_line(ended[0])}")
        if word == ".reg":
            declared = _REGISTERS.match(text, start)
            if declared:
                self._declare(function.scopes[scope], declared[1], declared[2], start)
            else:
                self.fault(start, "a declaration of registers is `.reg .type names;`")
        elif word in _TABLES:
            function.tables[label] = tuple(NAME.findall(ended[0][len(word) :]))
        else:
            variable = _VARIABLE.match(text, start)
            if variable:
                self._variable(variable, function.scopes[scope].variables)
        return _SPACE.match(text, ended.end()).end()  # type: ignore[union-attr]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _declared_names(text: str | None) -> tuple[str, ...]:
    """The names of the parameters in a function's head."""
    found = (_VARIABLE_NAME.search(item) for item in (text or "").split(","))
    return tuple(name[1] for name in found if name is not None)
