"""Hooks of MkDocs: the order of the pages, and the documents outside of `docs/`.

`ARCHITECTURE.md`, `CONTRIBUTING.md` and `CHANGELOG.md` become pages of the folder `project`. Links to and
from these documents are rewritten to their place in the site. A link to the README leads to the first page.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "start": "Start",
    "use": "Use",
    "operate": "Operate",
    "run": "Run",
    "reference": "Reference",
    "runbooks": "Runbooks",
    "decisions": "Decisions",
}
ABOVE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "README.md": "README.md",
}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Build the navigation from the folders: each page under its heading, the first page of a folder first."""
    folders = [{title: [*_pages(folder)]} for folder, title in FOLDERS.items()]
    project = [page for name, page in ABOVE.items() if name != "README.md"]
    config["nav"] = [{"Signalbox": "README.md"}, {"Glossary": "glossary.md"}, *folders, {"Project": project}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of `docs/` to the site."""
    for name, page in ABOVE.items():
        if name != "README.md":
            files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite links from pages of `docs/` to documents outside of it, and the links of these documents."""
    above = next((name for name, uri in ABOVE.items() if uri == page.file.src_uri and name != "README.md"), None)
    here = above or f"docs/{page.file.src_uri}"

    def rewritten(link: re.Match[str]) -> str:
        start, target, end = link.groups()
        return (
            link[0]
            if "://" in target or target.startswith("/")
            else f"{start}{_in_the_site(here, page.file.src_uri, target)}{end}"
        )

    return LINK.sub(rewritten, markdown)


def _pages(folder: str) -> Iterator[str | dict[str, list[str]]]:
    """Yield the pages of a folder, and its subfolders as sections."""
    paths = sorted((ROOT / "docs" / folder).iterdir(), key=lambda path: (path.name != "README.md", path.name))
    yield from (f"{folder}/{path.name}" for path in paths if path.suffix == ".md")
    for path in paths:
        if path.is_dir() and any(path.glob("*.md")):
            yield {path.name.capitalize(): [*map(str, _pages(f"{folder}/{path.name}"))]}


def _in_the_site(here: str, page: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    uri = path.removeprefix("docs/") if path.startswith("docs/") else ABOVE.get(path, path)
    return posixpath.relpath(uri, posixpath.dirname(page) or ".")
