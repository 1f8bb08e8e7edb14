"""The bar above a list: what was typed, the keys one can ask for, and where a mistake stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest

from console.roles import denial_here, may_here, reach
from dlq import saved_filters
from dlq.filters import Filter, FilterError, parse
from dlq.masking_rules import Masking
from dlq.patterns import check_patterns
from dlq.reaching import JobReach
from dlq.saved_filters import SavedFilter
from queues.reach import Reach

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


def readable_filter(text: str, request: HttpRequest, *queues: str) -> Filter:
    """The filter that `text` holds, cut to the person's reach; raises FilterError at a mistake, or at what is masked.

    `queues` are those whose messages are listed, which the guard of the page has seen to; without any, those that the
    filter names, or all.
    """
    chosen = parse(text)
    for term in chosen.terms:
        if term.key in MASKED_KEYS and (reason := denial_here(request, "see_payloads")):
            raise term.error(f"{term.key}: is masked. {reason}", "a key about facts, such as class: or age:")
    if any(term.key in MASKED_KEYS for term in chosen.terms) and not may_here(request, "reveal"):
        Masking().check(chosen, *queues)
    check_patterns(chosen)
    return chosen if queues else chosen.within(reach(request.user, "see_metadata"))


def no_filter(request: HttpRequest) -> Filter:
    """What selects all that the person reaches."""
    return Filter().within(reach(request.user, "see_metadata"))


def saved(request: HttpRequest, page: SavedFilter.Page, action: str) -> SavedFilters:
    """The saved filters that this person sees beside the bar of a page. One query."""
    return SavedFilters(page.value, action, kept_for(request, page))


def kept_for(request: HttpRequest, page: SavedFilter.Page | None = None) -> list[SavedFilter]:
    """Saved filters, less those of others that tell what is masked for this person."""
    person = request.user.get_username()
    kept = _within(saved_filters.seen_by(person, page), person, reach(request.user, "see_metadata"))
    if not denial_here(request, "see_payloads"):
        return kept
    return [one for one in kept if one.owner == person or not one.keys & MASKED_KEYS]


def _within(kept: list[SavedFilter], person: str, held: Reach) -> list[SavedFilter]:
    """One's own, and of others those that name no queue or tenant beyond reach."""
    if held.is_everything:
        return kept
    known = JobReach(held)
    return [one for one in kept if one.owner == person or _names_reached(one, known)]


def _names_reached(kept: SavedFilter, known: JobReach) -> bool:
    try:
        terms = parse(kept.text).terms
    except FilterError:
        return False
    return known.has([name for term in terms if term.key == "queue" for name in term.literals]) and all(
        known.has_tenant(name) for term in terms if term.key == "tenant" for name in term.literals
    )


def typed(request: HttpRequest) -> str:
    """The filter in the address."""
    return request.GET.get("q", "").strip()[: LONGEST + 1]  # one more, so that too long a filter is refused, not cut
