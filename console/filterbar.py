"""The bar above a list: what was typed, the keys one can ask for, and where a mistake stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest

from console.roles import denial, may
from dlq import saved_filters
from dlq.filters import Filter, FilterError, parse
from dlq.masking_rules import Masking
from dlq.patterns import check_patterns
from dlq.saved_filters import SavedFilter

LONGEST = 2_000


@dataclass(frozen=True)
class Suggestion:
    """A key that a click puts into the bar."""

    insert: str
    help: str


@dataclass(frozen=True)
class SavedFilters:
    """What `components/_saved_filters.html` shows beside a bar: `action` is its list's address up to the filter."""

    page: str
    action: str
    filters: Sequence[SavedFilter] = ()


@dataclass(frozen=True)
class FilterBar:
    """What `components/_filter.html` shows. `kept` are the other parameters of the address."""

    text: str
    label: str
    action: str
    placeholder: str
    keys: Sequence[Suggestion] = ()
    example: str = ""
    kept: Sequence[tuple[str, str]] = ()
    mistake: FilterError | None = None
    suggest_url: str = ""
    """Where what may be typed next is offered; empty where the keys are all there is."""
    longest: int = field(default=LONGEST, init=False)

    @property
    def before(self) -> str:
        return self.text[: self.mistake.position] if self.mistake else ""

    @property
    def token(self) -> str:
        if not self.mistake:
            return ""
        return self.text[self.mistake.position : self.mistake.position + self.mistake.length]

    @property
    def after(self) -> str:
        return self.text[len(self.before) + len(self.token) :]


# Keys that look into what is masked: asking them would tell it, a guess at a time.
MASKED_KEYS = {"payload", "attr", "error"}


def readable_filter(text: str, user: AbstractBaseUser | AnonymousUser, *queues: str) -> Filter:
    """The filter that `text` holds; raises FilterError at a mistake, or at what is masked for `user`.

    `queues` are those whose messages are listed; without any, those that the filter names, or all.
    """
    chosen = parse(text)
    for term in chosen.terms:
        if term.key in MASKED_KEYS and (reason := denial(user, "see_payloads")):
            raise term.error(f"{term.key}: is masked. {reason}", "a key about facts, such as class: or age:")
    if any(term.key in MASKED_KEYS for term in chosen.terms) and not may(user, "reveal"):
        Masking().check(chosen, *queues)
    check_patterns(chosen)
    return chosen


def saved(request: HttpRequest, page: SavedFilter.Page, action: str) -> SavedFilters:
    """The saved filters that this person sees beside the bar of a page. One query."""
    return SavedFilters(page.value, action, kept_for(request, page))


def kept_for(request: HttpRequest, page: SavedFilter.Page | None = None) -> list[SavedFilter]:
    """Saved filters, less those of others that tell what is masked for this person."""
    person = request.user.get_username()
    kept = saved_filters.seen_by(person, page)
    if not denial(request.user, "see_payloads"):
        return kept
    return [one for one in kept if one.owner == person or not one.keys & MASKED_KEYS]


def typed(request: HttpRequest) -> str:
    """The filter in the address."""
    return request.GET.get("q", "").strip()[: LONGEST + 1]  # one more, so that too long a filter is refused, not cut
