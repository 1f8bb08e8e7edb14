"""The frame of every page: sidebar, notices, the logged-in person and that person's preferences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from console.access import roles
from console.web import preferences, shortcuts, sidebar
from console.web.preferences import CHOICES
from console.web.shortcuts import ShortcutSection
from console.web.sidebar import Entry, Group, Section


@dataclass(frozen=True)
class Notice:
    """A sentence at the head of every page. The tone is `bad` or `warn`."""

    title: str
    text: str
    tone: str


Source = Callable[[HttpRequest], Iterable[Notice]]

_sources: list[Source] = []


def register_notices(source: Source) -> None:
    """Show the notices of `source` on every page of people who are logged in."""
    _sources.append(source)


def bare_frame(request: HttpRequest) -> dict[str, Any]:
    """Return the frame of an error page. It reads no database, because the database may be the cause of the error."""
    return {"preferences": preferences.read(request), "breaching": 0}


class Frame:
    """The frame of one page. Each part is read when a template first uses it."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.environment = getattr(settings, "ENVIRONMENT", "")

    @cached_property
    def preferences(self) -> dict[str, str]:
        return preferences.read(self.request)

    @cached_property
    def preference_switches(self) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
        """The switches under *Display*: (cookie, label, [(value, label, whether it is chosen)])."""
        labels = {"theme": "Theme", "zone": "Times", "density": "Rows"}
        return [
            (name, label, [(value, said, value == self.preferences[name]) for value, said in CHOICES[name].items()])
            for name, label in labels.items()
        ]

    @cached_property
    def denied(self) -> roles.Denials:
        return roles.Denials(self.request)

    @cached_property
    def role(self) -> str:
        return roles.role_of(self.request.user)

    @cached_property
    def shortcuts(self) -> list[ShortcutSection]:
        """The keyboard shortcuts of the person, as the help lists them."""
        return shortcuts.sections(sidebar.items_seen(self.request) if self.sees_metadata else [])

    @cached_property
    def sees_metadata(self) -> bool:
        return self.request.user.is_authenticated and bool(roles.reach(self.request.user, "see_metadata"))

    @cached_property
    def notices(self) -> Sequence[Notice]:
        """Notices for every page, such as a read-only database; none before the login."""
        is_shown = self.request.user.is_authenticated
        return [notice for source in _sources if is_shown for notice in source(self.request)]

    @cached_property
    def sections(self) -> list[Section]:
        """The groups of the sidebar that the person sees; without a role, the foot only."""
        return sidebar.sections(self.request, tuple(Group) if self.sees_metadata else (Group.FOOT,))

    @property
    def groups(self) -> list[Section]:
        """The groups with a title."""
        return [section for section in self.sections if section.group is not Group.FOOT]

    @property
    def foot(self) -> Section:
        """The lines below the groups."""
        return next(section for section in self.sections if section.group is Group.FOOT)

    @cached_property
    def entries(self) -> list[Entry]:
        """The lines of the sidebar, of all groups."""
        return [entry for section in self.sections for entry in section.entries]

    @property
    def is_account(self) -> bool:
        """True on the pages of the person's own account."""
        name = (self.request.resolver_match and self.request.resolver_match.url_name) or ""
        return name.startswith(("account", "second_factor", "recovery_codes"))

    @cached_property
    def breaching(self) -> int:
        """The number of queues that turn the lamp red."""
        return sum(entry.badge.count for entry in self.entries if entry.badge and entry.item.lights_lamp)
