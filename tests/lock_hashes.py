"""`python -m tests.lock_hashes FILE…` writes the hashes of each pinned version's files into lock files.

It reads the indexes that pip is configured for, with pip's own code, and writes no address. A file that two indexes
have with different contents is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link
from pip._vendor.packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import InvalidVersion, Version

OLDEST_PYTHON = 11
PINNED = re.compile(r"^([\w.-]+)==([^\s\\]+)")


def main(paths: Iterable[str]) -> None:
    collector = _collector()
    for path in map(Path, paths):
        path.write_text("".join(_locked(collector, path.read_text().splitlines())))


def _locked(collector: Any, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if (pinned := PINNED.match(line)) is not None:
            hashes = _hashes(collector, pinned[1], Version(pinned[2]))
            yield " \\\n    ".join([pinned[0], *(f"--hash=sha256:{one}" for one in hashes)]) + "\n"
        elif not line.startswith("    --hash"):
            yield line + "\n"


def _hashes(collector: Any, name: str, version: Version) -> list[str]:
    """Hashes of all wheels that a supported Python could install; of the source without a wheel."""
    wheels: dict[str, str] = {}
    sources: dict[str, str] = {}
    for link in _links(collector, name):
        found = wheels if link.is_wheel else sources
        if _is_of(link, name, version) and found.setdefault(link.filename, link.hash) != link.hash:
            raise SystemExit(f"{link.filename} differs between two indexes")
    if not (wheels or sources):
        raise SystemExit(f"{name} {version} has no files")
    return sorted(set((wheels or sources).values()))


def _is_of(link: Link, name: str, version: Version) -> bool:
    if not link.hash or link.hash_name != "sha256":
        return False
    try:
        if link.is_wheel:
            named, at, _, tags = parse_wheel_filename(link.filename)
            return named == canonicalize_name(name) and at == version and any(map(_is_wanted, tags))
        return parse_sdist_filename(link.filename) == (canonicalize_name(name), version)
    except (InvalidSdistFilename, InvalidVersion, InvalidWheelFilename):
        return False


def _is_wanted(tag: Any) -> bool:
    """CPython from the oldest that the product runs on, or any Python 3."""
    if (exact := re.fullmatch(r"cp3(\d+)", tag.interpreter)) is not None:
        return int(exact[1]) >= OLDEST_PYTHON or tag.abi in ("abi3", "none")
    return bool(re.fullmatch(r"(py2\.)?py3\d*", tag.interpreter))


def _links(collector: Any, name: str) -> Iterator[Link]:
    pages: list[Link] = []

    def note(page: Link) -> list[Any]:
        pages.append(page)
        return []

    gathered = collector.collect_sources(name, note)
    for source in (*gathered.index_urls, *gathered.find_links):
        if source is not None:
            list(source.page_candidates())  # notes its pages
            yield from source.file_links()
    for page in pages:
        if (content := collector.fetch_response(page)) is not None:
            yield from parse_links(content)


def _collector() -> Any:
    """Choice of `pip download`, from equal settings."""
    command: Any = create_command("download")
    with command.main_context():
        options, _ = command.parse_args([])
        return command._build_package_finder(options, command.get_default_session(options))._link_collector


if __name__ == "__main__":
    main(sys.argv[1:])
