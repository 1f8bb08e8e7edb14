"""The runbooks of our own alerts, readable where one is woken: in the console, without a checkout at hand."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

_OURS = re.compile(r"docs/runbooks/([A-Za-z]{1,80})\.md")


def runbook_address(runbook_url: str) -> str:
    """Where the runbook of an alert can be read: a page of ours, an address of theirs, or empty for neither."""
    if found := _OURS.fullmatch(runbook_url):
        return reverse("runbook", args=[found[1]]) if text_of(found[1]) is not None else ""
    return runbook_url if _is_web_address(runbook_url) else ""


def text_of(name: str) -> str | None:
    """The runbook of this alert; None when there is none. `name` is letters alone."""
    path = settings.BASE_DIR / "docs" / "runbooks" / f"{name}.md"
    return path.read_text() if path.is_file() else None


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
