"""ptxmma toolchain: list the releases of ptxas and whether they can be used; fetch releases."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..spec.errors import Question
from .progress import hide

if TYPE_CHECKING:
    from ..assemblers.fetching import FetchStage
    from ..assemblers.toolchains import KnownRelease

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every release, and its path if it is on this machine")
    listing.add_argument("--ptxas", metavar="PATH", type=Path, help="ask this binary as well")
    listing.add_argument("--format", choices=("text", "json"), default="text")
    listing.set_defaults(run=run_list)
    fetching = actions.add_parser("fetch", help="fetch releases from PyPI with pip")
    fetching.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help="12.4.131, its toolkit 12.4 or its PTX ISA version 8.4 (default: the newest)",
    )
    fetching.add_argument("--all", action="store_true", help="every release")
    fetching.set_defaults(run=run_fetch)


def entries(given: Path | None) -> list[dict[str, Any]]:
    """Every known release and every other ptxas found, as the JSON output has them."""
    from ..assemblers.toolchains import ask, examine, known, places

    found: dict[str, dict[str, Any]] = {}
    for version, release in known().items():
        found[version] = {
            "version": version,
            "ptx": str(release.ptx),
            "toolkit": release.assembler.toolkit,
            "package": release.assembler.package,
            "fetchable": release.build is not None,
            "source": None,
            "path": None,
            "why": None,
        }
    others: list[dict[str, Any]] = []

    def put(source: str, path: Path, version: str | None, ptx: str | None, why: str | None) -> None:
        entry = found.get(version or "")
        if entry is not None and entry["path"] is None:
            entry["why"] = why
            if why is None:
                entry.update(source=source, path=str(path))
        elif entry is None:
            others.append(
                {
                    "version": version,
                    "ptx": ptx,
                    "toolkit": None,
                    "package": None,
                    "fetchable": False,
                    "source": source,
                    "path": str(path),
                    "why": why,
                }
            )

    if given is not None:
        ptxas = ask(given)
        put("given", ptxas.path, ptxas.version, str(ptxas.ptx), None)
    for place in places():
        try:
            ptxas = examine(place)
        except Question as error:
            put(place.source, place.path, place.said, None, str(error))
        else:
            put(place.source, place.path, ptxas.version, str(ptxas.ptx), None)
    return [*found.values(), *others]


def run_list(args: argparse.Namespace) -> int:
    """Print every release, and why one cannot be used."""
    listed = entries(args.ptxas)
    if args.format == "json":
        print(json.dumps(listed, indent=1))
        return 0
    for entry in listed:
        state = f"{entry['source']}: {entry['path']}" if entry["path"] else "not here"
        if entry["why"]:
            state = f"unusable: {entry['why']}"
        elif entry["path"] is None and not entry["fetchable"]:
            state = "no wheel for this platform"
        print(f"{entry['version'] or '?':<9} PTX ISA {entry['ptx'] or '?':<4} {state}")
    usable = sum(1 for entry in listed if entry["path"] and not entry["why"])
    print(f"{usable} can be used")
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch releases; exit code 2 when one could not be fetched."""
    from ..assemblers.fetching import fetch
    from ..assemblers.toolchains import chosen, known

    if args.all and args.versions:
        raise Question("name releases or say --all, not both")
    if args.all:
        releases = [release for release in known().values() if release.build is not None]
    else:
        releases = list({r.version: r for r in map(chosen, args.versions or [None])}.values())
    begun = time.perf_counter()
    with _progress(releases) as tell:
        fetched = fetch(releases, tell)
    seconds = time.perf_counter() - begun
    for one in fetched:
        if one.path is not None:
            print(f"{one.version:<9} {'fetched' if one.new else 'was here'}: {one.path}")
    sys.stdout.flush()
    failed = [one for one in fetched if one.path is None]
    new = sum(one.new for one in fetched)
    print(
        f"{new} fetched, {len(fetched) - new - len(failed)} were here, {len(failed)} failed; {seconds:.1f} s"
    )
    if failed:
        lines = [f"{one.version}: {one.why}" for one in failed if one.why]
        raise Question("\n  ".join([f"{len(failed)} of {len(fetched)} could not be fetched", *lines]))
    return 0


@contextmanager
def _progress(releases: Sequence[KnownRelease]) -> Iterator[Callable[[str, FetchStage, int], None]]:
    """Progress bars on a terminal's standard error; nothing elsewhere."""
    hide()
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[stage]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        sizes = {release.version: release.build.bytes for release in releases if release.build is not None}
        tasks = {v: progress.add_task(v, total=size, stage="waiting") for v, size in sizes.items()}

        def tell(version: str, stage: FetchStage, size: int) -> None:
            done = size if stage == "fetching" else sizes[version]
            progress.update(tasks[version], completed=min(done, sizes[version]), stage=stage)

        yield tell
