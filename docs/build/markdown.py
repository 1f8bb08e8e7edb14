"""Small pieces of Markdown: tables, links, sentences."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = re.compile(r"`?docs/([\w/-]+)\.md(#[\w-]+)?`?")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; bars within cells are escaped."""
    return "\n".join([_line(head), "|" + "---|" * len(head), *map(_line, rows)])


def linked(text: str, folder: str) -> str:
    """Turn each mention of a page, `docs/use/client.md`, into a link from a page of this folder of `docs/`."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.relpath(f"{found[1]}.md", folder)
        return f"[{_link_text(found[1])}]({target}{found[2] or ''})"

    return PAGE.sub(link, text)


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return page.read_text().split("# ", 1)[-1].split("\n", 1)[0]


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}{'' if not text or text[-1] in '.!?:' else '.'}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    return sentence(re.split(r"(?<=[.;])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(";:"))


def _link_text(name: str) -> str:
    """Return the words of a link: the title of the page, or the number of a decision."""
    if name.startswith("decisions/"):
        return f"decision {int(posixpath.basename(name).split('-')[0])}"
    return title(DOCS / f"{name}.md")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |".replace("|  |", "| |").replace("|  |", "| |")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
