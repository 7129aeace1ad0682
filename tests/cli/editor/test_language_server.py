"""A client talks to the language server over stdio: diagnostics, hovers, completions, goodbye."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ptxmma.cli.editor.completions import completions
from ptxmma.cli.main import main

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
UNWAITED = (Path(__file__).parents[2] / "check" / "unwaited.ptx").read_text()
CUDA = """\
__global__ void k(unsigned r0) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%0}, [%1];" : "=r"(r0) : "r"(r0));
#endif
}
"""


class Client:
    """As little of the protocol as the tests need."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ptxmma", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.numbers = count(1)
        self.said: list[dict[str, Any]] = []

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found

    def ask(self, method: str, params: Any) -> Any:
        number = next(self.numbers)
        self.send(method, params, number)
        while (message := self.read()).get("id") != number:
            self.said.append(message)
        assert "error" not in message, message
        return message.get("result")

    def diagnostics(self, name: str, text: str) -> list[dict[str, Any]]:
        """Open a text, and wait for what is found in it."""
        uri = f"file:///kernels/{name}"
        item = {"uri": uri, "languageId": "ptx", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": item})
        while True:
            message = self.read()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                found: list[dict[str, Any]] = message["params"]["diagnostics"]
                return found

    def at(self, method: str, name: str, line: int, column: int) -> Any:
        place = {
            "position": {"line": line, "character": column},
            "textDocument": {"uri": f"file:///kernels/{name}"},
        }
        return self.ask(method, place)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    with made.process as process:
        answer = made.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        offered = answer["capabilities"]
        assert offered["hoverProvider"] and "." in offered["completionProvider"]["triggerCharacters"]
        made.send("initialized", {})
        yield made
        made.ask("shutdown", None)
        made.send("exit", None)
        assert process.wait(60) == 0
        assert process.stderr and b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_what_check_finds_is_shown_where_it_is(client: Client) -> None:
    (one,) = [d for d in client.diagnostics("unwaited.ptx", UNWAITED) if d["severity"] == 1]
    assert (one["code"], one["source"]) == ("accumulator-in-flight", "ptxmma")
    assert one["range"]["start"] == {"line": 16, "character": 4}
    assert one["codeDescription"]["href"].endswith("/rules/accumulator-in-flight.html")


@pytest.mark.slow
def test_a_text_that_is_not_ptx(client: Client) -> None:
    (one,) = client.diagnostics("garbage.ptx", "\x00 garbage")
    assert (one["severity"], one["code"]) == (1, "unreadable")
    assert client.diagnostics("empty.cu", "") == []


@pytest.mark.slow
def test_inline_assembly(client: Client) -> None:
    found = client.diagnostics("kernel.cu", CUDA)
    assert {d["range"]["start"]["line"] for d in found if d["severity"] == 1} == {2}
    begun = CUDA.replace(
        '("ldmatrix', '("wgmma.\\n"\n"mma.sync.aligned.m16n8k16.row.col.f32.f16 {%0,\\n"\n"ldmatrix'
    )
    found = client.diagnostics("kernel.cu", begun)
    assert {d["range"]["start"]["line"] for d in found if d["severity"] == 1} == {2, 3, 4}


@pytest.mark.slow
def test_a_hover_says_what_show_says(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    client.diagnostics("hover.ptx", f"// {MMA}\n// mma.sync.aligned.m16n8k17\n// nothing")
    said = client.at("textDocument/hover", "hover.ptx", 0, 12)["contents"]["value"]
    assert main(["show", MMA]) == 0
    words = capsys.readouterr().out.split()
    assert [word for word in words if word not in said.split()] == []
    assert "![layout of A](data:image/svg+xml;base64," in said
    assert (
        "is not a mnemonic; the nearest is"
        in client.at("textDocument/hover", "hover.ptx", 1, 12)["contents"]["value"]
    )
    assert client.at("textDocument/hover", "hover.ptx", 2, 5) is None


@pytest.mark.slow
def test_columns_are_units_of_utf_16(client: Client) -> None:
    before = "/* \U0001f600\U0001f600 ä */ "  # 11 characters of 13 units
    client.diagnostics("smiles.ptx", f"{before}{MMA} {before}mma.\r\n")
    assert client.at("textDocument/hover", "smiles.ptx", 0, 12) is None
    span = client.at("textDocument/hover", "smiles.ptx", 0, 13)["range"]
    assert (span["start"]["character"], span["end"]["character"]) == (13, 13 + len(MMA))
    for column in (13 + len(MMA) + 1 + 13 + len("mma."), 999):
        found = client.at("textDocument/completion", "smiles.ptx", 0, column)
        items = found["items"] if isinstance(found, dict) else found
        assert "sync" in {item["label"] for item in items}
    found = client.diagnostics("smiles.cu", CUDA.replace("  asm", f"{before}asm"))
    begin = 13 + len('asm volatile("')
    spans = {(d["range"]["start"]["character"], d["range"]["end"]["character"]) for d in found}
    assert spans == {(begin, begin + len("ldmatrix.sync.aligned.m8n8.x3.shared.b16"))}


@pytest.mark.slow
def test_qualifiers_that_are_legal_so_far(client: Client) -> None:
    def words(text: str, head: str = "") -> set[str]:
        name = f"complete-{next(client.numbers)}.ptx"
        client.diagnostics(name, f"{head}\n{text}")
        found = client.at("textDocument/completion", name, 1, len(text)) or []
        items = found["items"] if isinstance(found, dict) else found
        return {item["label"] for item in items}

    old, new = ".version 8.3", ".version 8.4"
    sparse = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8."
    assert words(sparse, old) == {"u8"} and words(sparse, new) == {"u8", "s8"}
    assert words("ldmatrix.sync.aligned.m8n8.", ".version 6.5") == {"x1", "x2", "x4"}
    assert words("stmatrix.", ".target sm_80") == set()
    assert "f32" in words("mma.m16n8k16.f16.")
    assert words("nosuch.") == set() == words("plain")
    client.diagnostics("order.ptx", "wgmma.mma_async.sync.aligned.")
    found = client.at("textDocument/completion", "order.ptx", 0, 29)
    items = found["items"] if isinstance(found, dict) else found
    ordered = [item["label"] for item in sorted(items, key=lambda item: item["sortText"])]
    assert ordered[:5] == ["m64n8k8", "m64n8k16", "m64n8k32", "m64n8k256", "m64n16k8"]


def test_completions_stand_in_the_order_of_their_numbers() -> None:
    found = completions("wgmma.mma_async.sync.aligned.m64n", None, "sm_90a")
    assert found[:5] == ["m64n8k8", "m64n8k16", "m64n8k32", "m64n8k256", "m64n16k8"]
    assert found[-1] == "m64n256k256"


@pytest.mark.parametrize(
    ("sent", "code", "says"),
    [
        (b"", 0, ""),
        (b"hello\n\nContent-Length: x\r\n\r\n{}", 0, ""),
        (b"Content-Length: 5\r\n\r\n{{{{{", 0, "Unable to handle message"),
        (b"Content-Length: 99999999999999999999\r\n\r\n{", 2, "too long to read"),
    ],
)
def test_what_is_not_the_protocol_gets_a_sentence(sent: bytes, code: int, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ptxmma", "lsp"], input=sent, capture_output=True, timeout=60
    )
    assert done.returncode == code
    assert says in done.stderr.decode() and "Traceback" not in done.stderr.decode()
