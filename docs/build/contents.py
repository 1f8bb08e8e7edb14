"""Lists of pages: all pages by folder, and the decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.build.markdown import table, title
from docs.build.pages import DOCS

FOLDERS = {
    "start": "the first day",
    "use": "sending and receiving messages",
    "operate": "finding and repairing what failed",
    "run": "installing, securing and watching an installation",
    "reference": "looking up a fact; most of it is generated from the code",
}


def table_of_pages() -> str:
    """Return the folders with their pages."""
    rows = [(f"`{folder}/`", text, ", ".join(_links(folder))) for folder, text in FOLDERS.items()]
    rows.append(("`runbooks/`", "one page for each alert", "[alert rules](reference/alert-rules.md)"))
    rows.append(("`decisions/`", "why it is built as it is", "[decisions](decisions/README.md)"))
    return table(("folder", "for", "pages"), rows)


def list_of_decisions() -> str:
    """Return the decisions in order, with their titles."""
    paths = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    titles = [(path.name, title(path)) for path in paths]
    return table(
        ("decision", "title"),
        ((f"[{name[:4].lstrip('0')}]({name})", re.sub(r"^\d+\. ", "", text)) for name, text in titles),
    )


def _links(folder: str) -> Iterator[str]:
    for path in sorted((DOCS / folder).glob("*.md")):
        yield f"[{title(path)}]({folder}/{path.name})"
