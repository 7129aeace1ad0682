"""ptxmma atlas: the specification as a static site, written or served."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory

from ..spec.api import load
from ..spec.errors import Question
from ..spec.quantities import counted

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--out", metavar="DIR", help="a new or empty folder, or one that this command wrote")
    parser.add_argument(
        "--serve",
        nargs="?",
        type=int,
        const=0,
        metavar="PORT",
        help="serve it on this machine, and open it in a browser (default: a free port)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the site, and serve it if that is asked for."""
    if args.serve:
        from ..atlas.serving import require_free

        require_free(args.serve)
    if args.out:
        folder = Path(args.out)
        written = _write(folder)
        print(f"{written} in {folder}: open {folder / 'index.html'}", flush=True)
        return 0 if args.serve is None else _serve(folder, args.serve)
    if args.serve is None:
        raise Question("say where the site goes: --out DIR; or --serve")
    with TemporaryDirectory(prefix="ptxmma-atlas-") as made:
        _write(Path(made))
        return _serve(Path(made), args.serve)


def _write(folder: Path) -> str:
    """Write the site; returns what was written, in words."""
    from ..atlas.site import files, require_ours, write

    require_ours(folder)  # before the site is made, which takes its time
    made = list(files(load()))
    count = write(folder, made)
    size = sum(len(one.content.encode()) for one in made) / 1e6
    return f"{counted(count, 'file')}, {size:.1f} MB"


def _serve(folder: Path, port: int) -> int:
    """Serve until somebody interrupts."""
    from ..atlas.serving import server

    served, address = server(folder, port)
    with served:
        print(f"{address}, until you press Ctrl-C", flush=True)
        webbrowser.open(address)
        served.serve_forever()
    return 0
