"""The sidebar: every room registers the pages that it leads to, in groups, with counts that are read once a request."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, wraps
from typing import TypeVar
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, get_script_prefix, resolve, reverse

from console.access import roles
from console.web import preferences, wording


class Group(Enum):
    """A group of pages in the sidebar; the foot has no title."""

    MONITOR = "Monitor"
    OPERATE = "Operate"
    ARCHIVE = "Archive"
    ADMIN = "Admin"
    FOOT = "Foot"

    @property
    def fold(self) -> str:
        """The preference that remembers whether the group is open; empty for a group that is always open."""
        return {Group.ARCHIVE: "archive_group", Group.ADMIN: "admin_group"}.get(self, "")


@dataclass(frozen=True)
class Badge:
    """A count beside an entry. The tone is `bad` for an alarm and empty for a quiet number."""

    count: int = 0
    words: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Item:
    """A page in the sidebar, also lit on pages whose URL name is one of `nouns`, or begins with one and `_`."""

    group: Group
    position: int
    label: str
    name: str
    icon: str
    nouns: tuple[str, ...] = ()
    badge: Callable[[HttpRequest], Badge] | None = None
    permission: str = "see_metadata"
    has_line: bool = True
    """False for a page that a tab of another page leads to; the palette finds it."""
    exists: Callable[[HttpRequest], bool] = lambda request: True
    """Return whether the installation has the subject of the page. If not, sidebar and palette leave the page out."""
    lights_lamp: bool = False
    """Whether a count above 0 turns the lamp of every page red."""

    @property
    def url(self) -> str:
        return _address(self.name, get_script_prefix())

    def is_seen_by(self, request: HttpRequest) -> bool:
        """Return whether the line is shown: to people who may open the page; under *Admin* to admins or on the page."""
        if not self.has_line or not self.may_open(request):
            return False
        if self.group is Group.ADMIN and roles.denial_here(request, "administer"):
            return bool(self.nearness(_here(request)))
        return True

    def may_open(self, request: HttpRequest) -> bool:
        """Return whether the person may open the page; people who see some queues only may not open every page."""
        if self.group is Group.FOOT:
            return True
        if not self.exists(request):
            return False
        if self.permission != "see_metadata" and roles.denial_here(request, self.permission):
            return False
        return not roles.is_scoped(request.user) or _is_cut_to_reach(self.url)

    def nearness(self, url_name: str) -> int:
        """Return how well the item fits a page: the length of the longest noun that fits; 0 if none fits."""
        if url_name == self.name:
            return len(url_name) + 1
        fitting = (noun for noun in self.nouns if url_name == noun or url_name.startswith(f"{noun}_"))
        return max(map(len, fitting), default=0)


@dataclass(frozen=True)
class Entry:
    """One line of the sidebar, as one request sees it."""

    item: Item
    current: bool
    badge: Badge | None

    @property
    def count(self) -> str:
        return wording.number(self.badge.count) if self.badge and self.badge.count else ""


@dataclass(frozen=True)
class Section:
    """A group with the lines that one request sees."""

    group: Group
    entries: Sequence[Entry]
    is_open: bool


@cache
def _address(name: str, _script_prefix: str) -> str:
    """Return the address of a page; Django adds the prefix."""
    return reverse(name)


@cache
def _is_cut_to_reach(address: str) -> bool:
    """Return whether the page limits itself to the queues that a person sees."""
    return getattr(resolve(address).func, "is_cut_to_reach", False)


_items: dict[str, Item] = {}


def register(*items: Item) -> None:
    """Add pages to the sidebar, in the order of their positions within their group."""
    for item in items:
        _items[item.name] = item


def light(request: HttpRequest, name: str) -> None:
    """Light the entry of the page from which the person came, or the entry `name` if that page has no entry."""
    request.__dict__["_lit"] = name


def sections(request: HttpRequest, among: Container[Group] = tuple(Group)) -> list[Section]:
    """Return the groups among these that the person sees, with their lines."""
    seen = [item for item in _in_order() if item.group in among and item.is_seen_by(request)]
    current, chosen = _current(request, seen), preferences.read(request)
    return [_section(group, seen, current, chosen, request) for group in Group if any(i.group is group for i in seen)]


def items_seen(request: HttpRequest) -> list[Item]:
    """Return the pages that this person may open, in the order of the sidebar, without their counts."""
    return [item for item in _in_order() if item.may_open(request)]


def nearest_page(request: HttpRequest) -> Item | None:
    """Return the page of the sidebar that is nearest to the address; the first one if none is near."""
    seen = [item for item in items_seen(request) if item.group is not Group.FOOT]
    return _nearest(seen, _here(request)) or next(iter(seen), None)


def _in_order() -> list[Item]:
    groups = list(Group)
    return sorted(_items.values(), key=lambda item: (groups.index(item.group), item.position))


def _section(
    group: Group, seen: Sequence[Item], current: Item | None, chosen: dict[str, str], request: HttpRequest
) -> Section:
    entries = [
        Entry(item, item is current, item.badge(request) if item.badge else None)
        for item in seen
        if item.group is group
    ]
    is_open = not group.fold or chosen[group.fold] == "open" or any(entry.current for entry in entries)
    return Section(group, entries, is_open)


def _current(request: HttpRequest, seen: Sequence[Item]) -> Item | None:
    """Return the item of the page that the person is on."""
    if lit := request.__dict__.get("_lit"):
        grouped = [item for item in seen if item.group is not Group.FOOT]
        return _nearest(grouped, _came_from(request)) or _nearest(grouped, lit)
    return _nearest(seen, _here(request))


def _nearest(items: Sequence[Item], url_name: str) -> Item | None:
    nearest = max(items, key=lambda item: item.nearness(url_name), default=None)
    return nearest if nearest and nearest.nearness(url_name) else None


def _here(request: HttpRequest) -> str:
    return (request.resolver_match and request.resolver_match.url_name) or ""


def _came_from(request: HttpRequest) -> str:
    """Return the URL name of the page that led here; empty if that is not a page of this console."""
    try:
        parts = urlsplit(request.headers.get("Referer", ""))
        return (resolve(parts.path).url_name or "") if parts.netloc == request.get_host() else ""
    except (ValueError, Resolver404):
        return ""


Answer = TypeVar("Answer")


def once_a_request(function: Callable[[HttpRequest], Answer]) -> Callable[[HttpRequest], Answer]:
    """Cache the result of `function` for the duration of a request."""

    @wraps(function)
    def asked(request: HttpRequest) -> Answer:
        answers = request.__dict__.setdefault("_answers", {})
        if function not in answers:
            answers[function] = function(request)
        answer: Answer = answers[function]
        return answer

    return asked
