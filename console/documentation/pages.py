"""Pages of `docs/` as HTML: links lead from page to page, and pictures are left out."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from console.alerts import runbooks

FIRST = "README"
_LINK = re.compile(r"\]\(([^()\s]+)\.md(#[^()\s]*)?\)")
_LEFT_OUT = re.compile(r"^(<!--.*|!\[.*)$", re.MULTILINE)


@cache
def _files() -> dict[str, Path]:
    """Map the name of each page, such as `operate/filters`, to its file. Only these files can be read."""
    folder = settings.BASE_DIR / "docs"
    return {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.md")}


def read(name: str) -> str | None:
    """Return the text of a page; None when there is none of this name."""
    path = _files().get(name)
    return None if path is None else path.read_text()


def title_of(text: str) -> str:
    """Return the first heading."""
    return text.partition("\n")[0].lstrip("# ")


def to_html(name: str, text: str) -> SafeString:
    """Return a page without its title; the links to other pages lead to pages of the console."""
    linked = _LINK.sub(lambda found: f"]({_address(name, found[1])})", _LEFT_OUT.sub("", text))
    return runbooks.to_html(linked)


def _address(name: str, target: str) -> str:
    """Return the console's address for a link on the page `name`; `target` unchanged if the console lacks the page."""
    page = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return f"{reverse('docs')}?{urlencode({'page': page}, doseq=False)}" if page in _files() else target
