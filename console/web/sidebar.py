"""The sidebar: every room registers the pages that it leads to, with counts that are read once a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from django.http import HttpRequest
from django.urls import resolve, reverse

from console.access import roles
from console.web import wording


@dataclass(frozen=True)
class Badge:
    """A count beside an entry; `tone` is bad for an alarm, plain for what wants notice, empty for a quiet number."""

    count: int = 0
    words: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Item:
    """A page in the sidebar. `nouns` are the first words of the URL names that belong to it."""

    position: int
    label: str
    name: str
    nouns: tuple[str, ...]
    badge: Callable[[HttpRequest], Badge] = lambda request: Badge()  # for a page that counts nothing
    permission: str = "see_metadata"
    lights_lamp: bool = False
    """Its count turns the lamp of every page red."""

    @property
    def url(self) -> str:
        return reverse(self.name)

    def is_seen_by(self, request: HttpRequest) -> bool:
        """Return whether the person may see the page; not every page is there for people who see some queues only."""
        if self.permission != "see_metadata" and roles.denial_here(request, self.permission):
            return False
        return not roles.is_scoped(request.user) or getattr(resolve(self.url).func, "is_cut_to_reach", False)


@dataclass(frozen=True)
class Entry:
    """One line of the sidebar, as one request sees it."""

    item: Item
    current: bool
    badge: Badge

    @property
    def count(self) -> str:
        return wording.number(self.badge.count) if self.badge.count else ""


_items: dict[str, Item] = {}


def register(*items: Item) -> None:
    """Add pages to the sidebar, in the order of their positions."""
    for item in items:
        _items[item.name] = item


def entries(request: HttpRequest) -> list[Entry]:
    """The lines that this person sees."""
    items = sorted(_items.values(), key=lambda item: item.position)
    here = (request.resolver_match and request.resolver_match.url_name) or ""
    return [
        Entry(item, here == item.name or here.split("_")[0] in item.nouns, item.badge(request))
        for item in items
        if item.is_seen_by(request)
    ]


Answer = TypeVar("Answer")


def once_a_request(function: Callable[[HttpRequest], Answer]) -> Callable[[HttpRequest], Answer]:
    """Keep what `function` returns for a request beside that request."""

    @wraps(function)
    def asked(request: HttpRequest) -> Answer:
        answers = request.__dict__.setdefault("_answers", {})
        if function not in answers:
            answers[function] = function(request)
        answer: Answer = answers[function]
        return answer

    return asked


def items_seen(request: HttpRequest) -> list[Item]:
    """Return the pages of the sidebar that this person sees, in their order, without their counts."""
    return [item for item in sorted(_items.values(), key=lambda item: item.position) if item.is_seen_by(request)]
