"""Read and write the files of evidence/: a file is written whole or not at all, and only the known format is
read.

PTXMMA_EVIDENCE names the folder that is read and written in place of the package's own.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..spec.errors import Question
from ..spec.loading import PACKAGE, ROOT
from ..spec.writing import write_folder

__all__ = ["FOLDER", "bits_of", "by_release", "changed", "in_order", "put", "read", "require_writable"]

_OWN = PACKAGE / "evidence"
FOLDER = Path(os.environ.get("PTXMMA_EVIDENCE") or _OWN)

# By path and reader: what the file said when it was last read, and the record.
_read: dict[tuple[Path, Callable[[Any], Any]], tuple[str, Any]] = {}

T = TypeVar("T")


class _OfRelease(Protocol):
    @property
    def release(self) -> str: ...


R = TypeVar("R", bound=_OfRelease)


def require_writable(folder: Path = FOLDER) -> None:
    """Raise Question for the evidence of an installed package, or if another specification is read."""
    if folder != _OWN or (_is_checkout(PACKAGE) and ROOT == PACKAGE):
        return
    why = "an installed ptxmma keeps its evidence" if ROOT == PACKAGE else "it is about another specification"
    raise Question(
        f"nothing is recorded in {folder}: {why}; name a folder of your own, which `ptxmma evidence` then "
        "reads: PTXMMA_EVIDENCE=FOLDER ptxmma …"
    )


def _is_checkout(package: Path) -> bool:
    return (package / "pyproject.toml").is_file()  # no wheel holds it


def put(folder: Path, name: str, text: str) -> Path:
    """Write a record to its file, whole or not at all."""
    require_writable(folder)
    write_folder(folder, [(f"{name}.json", text)])
    return folder / f"{name}.json"


def read(folder: Path, names: str, written_as: int, make: Callable[[Any], T]) -> list[T]:
    """Every record whose name fits, by name; raises Question for any other file.

    A file that says what it said when it was last read gives the same record, which nobody may change.
    """
    return [_record(path, written_as, make) for path in sorted(folder.glob(names))]


def _record(path: Path, written_as: int, make: Callable[[Any], T]) -> T:
    try:
        text = path.read_text()
        earlier = _read.get((path, make))
        if earlier is None or earlier[0] != text:
            value = json.loads(text)
            if value["format"] != written_as:
                raise Question(
                    f"{path} is not a record of observations of format {written_as}, but of format "
                    f"{value['format']}; record it again"
                )
            earlier = _read[path, make] = text, make(value)
    except json.JSONDecodeError as error:
        raise Question(
            f"{path}:{error.lineno}:{error.colno} is not a record of observations: not JSON ({error.msg})"
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError, lzma.LZMAError) as error:
        raise Question(f"{path} is not a record of observations: {error!r}") from None
    found: T = earlier[1]
    return found


def changed(
    now: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """The entries that differ from the record in more than the date."""
    return tuple(
        name for name, entry in now.items() if {**entry, "date": ""} != {**recorded.get(name, {}), "date": ""}
    )


def in_order(release: str) -> tuple[int, ...]:
    """The numbers that a release such as "12.4.131" is sorted by."""
    return tuple(int(part) for part in release.split("."))


def by_release(records: Iterable[R]) -> tuple[R, ...]:
    """Records, oldest release first."""
    return tuple(sorted(records, key=lambda record: in_order(record.release)))


def bits_of(bitmap: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first; a bitmap may have a million."""
    packed = bitmap.to_bytes((bitmap.bit_length() + 7) // 8, "little")
    for place, byte in enumerate(packed):
        if byte:
            yield from (8 * place + bit for bit in range(8) if byte >> bit & 1)
