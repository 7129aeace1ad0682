"""`ptxmma atlas --serve` answers on this machine alone, until it is interrupted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from ptxmma.atlas import site
from ptxmma.atlas.files import AtlasFile
from ptxmma.atlas.serving import server
from ptxmma.atlas.site import write
from ptxmma.spec.errors import Question


def test_files_are_served(tmp_path: Path) -> None:
    write(tmp_path, [AtlasFile("index.html", "<h1>é</h1>")])
    served, address = server(tmp_path, 0)
    assert served.server_address[0] == "127.0.0.1"
    with served:
        Thread(target=served.serve_forever, daemon=True).start()
        with urllib.request.urlopen(address) as answer:
            assert answer.read().decode() == "<h1>é</h1>"
        with pytest.raises(
            Question, match=f"port {served.server_port} cannot be served: Address already in use"
        ):
            server(tmp_path, served.server_port)
        served.shutdown()


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none(tmp_path: Path, port: int) -> None:
    with pytest.raises(Question, match=f"port {port} cannot be served"):
        server(tmp_path, port)


def test_a_taken_port_is_said_before_the_site_is_made(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, error = run("atlas", "--out", str(tmp_path / "site"), "--serve", str(port))
    assert (code, out) == (2, "") and f"port {port} cannot be served: Address already in use" in error
    assert not (tmp_path / "site").exists()


def test_a_folder_of_something_else_is_said_before_the_site_is_made(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "files", lambda specification: pytest.fail("it is made"))
    (tmp_path / "thesis.tex").write_text("mine")
    code, out, error = run("atlas", "--out", str(tmp_path))
    assert (code, out) == (2, "") and "holds something else; name a new or an empty folder" in error
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


# The command, with one page for the site: what is served is not the point.
SMALL = """
from ptxmma.atlas import site
from ptxmma.atlas.files import AtlasFile
from ptxmma.cli.main import entry
site.files = lambda specification: [AtlasFile("index.html", "<h1>ptxmma</h1>")]
entry()
"""


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SMALL, "atlas", "--out", str(tmp_path / "site"), "--serve"]
    silent = {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=silent,
        # a shell's background jobs ignore the signal, and so would what they start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    ) as process:
        try:
            assert process.stdout and process.stderr
            assert "index.html" in process.stdout.readline()
            address = process.stdout.readline().split(",")[0]
            with urllib.request.urlopen(address) as answer:
                assert b"ptxmma" in answer.read()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


def test_neither_folder_nor_port() -> None:
    done = subprocess.run([sys.executable, "-m", "ptxmma", "atlas"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and "--out DIR" in done.stderr
