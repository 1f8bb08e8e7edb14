"""Wrap the prose of documents: `python -m docs.build.wrap [--check] FILE…`.

Paragraphs and list items are filled to 100 characters. Code blocks, tables, headings, quotes and HTML stay as they are.
Inline code and links are never broken, so that a search for one finds it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

WIDTH = 100
ITEM = re.compile(r"( *)((?:[-*+]|\d+\.) +)(.*)")
FENCE = re.compile(r" *(```|~~~)")
KEPT = re.compile(r" *(\||#|>|<|!\[|\[[^\]]+\]:|---)")
WHOLE = re.compile(r"``.+?``|`[^`]+`|\[[^\]]*\]\([^)\s]*\)|dead letters?\b")
STARTS_A_BLOCK = re.compile(r"([-*+>#]|\d+[.)])$")
GLUE = "\0"


def main(arguments: Sequence[str]) -> int:
    """Wrap the files; with `--check`, only list those that are not wrapped."""
    check = "--check" in arguments
    unwrapped = [path for path in map(Path, arguments) if path.suffix == ".md" and _is_changed(path, check)]
    for path in unwrapped:
        print(f"{'would wrap' if check else 'wrapped'} {path}")
    return 1 if check and unwrapped else 0


def wrapped(text: str) -> str:
    """Return the document with its prose filled."""
    return "".join(f"{line}\n" for block in _blocks(text.splitlines()) for line in _filled(block))


def _is_changed(path: Path, check: bool) -> bool:
    text = path.read_text()
    if (new := wrapped(text)) == text:
        return False
    if not check:
        path.write_text(new)
    return True


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Split a document into paragraphs and items, and into single lines that stay as they are."""
    block: list[str] = []
    fenced = False
    for line in lines:
        fence = bool(FENCE.match(line))
        whole = fenced or fence or not line.strip() or bool(KEPT.match(line))
        if block and (whole or ITEM.match(line)):
            yield block
            block = []
        if whole:
            yield [f"{GLUE}{line}"]
        else:
            block.append(line)
        fenced ^= fence
    if block:
        yield block


def _filled(block: Sequence[str]) -> Iterator[str]:
    first = block[0]
    if first.startswith(GLUE):
        yield first.removeprefix(GLUE)
    elif (item := ITEM.match(first)) is not None:
        start = item[1] + item[2]
        yield from _fill([item[3], *block[1:]], start, " " * len(start))
    else:
        indent = first[: len(first) - len(first.lstrip())]
        yield from _fill(block, indent, indent)


def _fill(lines: Iterable[str], first: str, rest: str) -> Iterator[str]:
    line, start = "", first
    for word in _words(" ".join(line.strip() for line in lines)):
        if not line:
            line = word
        elif len(start) + len(line) + 1 + len(word) <= WIDTH or STARTS_A_BLOCK.match(word):
            line = f"{line} {word}"
        else:
            yield start + line
            line, start = word, rest
    yield start + line


def _words(text: str) -> list[str]:
    glued = WHOLE.sub(lambda found: found[0].replace(" ", GLUE), text)
    return [word.replace(GLUE, " ") for word in glued.split()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
