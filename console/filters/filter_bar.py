"""The filter bar above a list: the typed text, the keys of the list, and the place of a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest

from console.access.roles import denial_here, may_here, reach
from dlq.filters import KEYS, Filter, FilterError, Target, parse
from dlq.masking.rules import Masking
from dlq.search import saved_filters
from dlq.search.checked_filter import CheckedFilter, check_filter
from dlq.search.reach import JobReach, held_to
from dlq.search.saved_filters import SavedFilter
from queues.errors import InvalidArgument

MAX_FILTER_CHARACTERS = 2_000
MAX_SELECTED = 100  # a filter accepts this many ids in one term; no page has more rows


@dataclass(frozen=True)
class Suggestion:
    """A key that a click puts into the bar."""

    insert: str
    help: str


def suggestions(target: Target, *but: str) -> list[Suggestion]:
    """List the keys of filters on this target, without those in `but`, which the page has already set."""
    return [
        Suggestion(f"{key.name}." if key.takes_path else f"{key.name}:", key.help)
        for key in KEYS.values()
        if target in key.targets and key.name not in but
    ]


@dataclass(frozen=True)
class SavedFilters:
    """Context of `components/_saved_filters.html`. `action` is the address of the list without its filter."""

    page: str
    action: str
    filters: Sequence[SavedFilter] = ()


@dataclass(frozen=True)
class FilterBar:
    """Context of `components/_filter.html`. `kept` are the other parameters of the address."""

    text: str
    label: str
    action: str
    placeholder: str
    keys: Sequence[Suggestion] = ()
    example: str = ""
    kept: Sequence[tuple[str, str]] = ()
    mistake: FilterError | None = None
    note: str = ""
    """A sentence about a filter that does not do what it seems to say, such as words that search names only."""
    suggest_url: str = ""
    """Address of the suggestions; empty for a list without any."""
    longest: int = field(default=MAX_FILTER_CHARACTERS, init=False)

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


# Keys that compare values which may be masked: with enough guesses, a person could find out a masked value.
MASKED_KEYS = {"payload", "attr", "error"}


def dead_letter_filter(request: HttpRequest, text: str) -> CheckedFilter:
    """Check a filter on dead letters within the person's reach. Raises `FilterError`, also for masked values."""
    return check_filter(unmasked(request, parse(text)), reach(request.user, "see_metadata"))


def message_filter(request: HttpRequest, text: str, queue: str, target: Target) -> CheckedFilter:
    """Check a filter on the messages of one queue that the person may see. Raises `FilterError`."""
    return check_filter(unmasked(request, parse(text), queue), targets=(target,))


def job_filter(request: HttpRequest, text: str, permission: str) -> CheckedFilter:
    """Check the filter of a new job, and add terms that limit it to the queues where the person has the permission.

    An empty filter stays empty for a person with the permission for all queues. Raises `FilterError`, also if the
    person has the permission for none of the queues.
    """
    held = reach(request.user, permission)
    try:
        return check_filter(held_to(held, unmasked(request, parse(text))))
    except InvalidArgument as error:
        raise FilterError(
            0, len(text), text, f"{error}."[:1].upper() + f"{error}."[1:], "queue: with a queue of your roles"
        ) from None


def unmasked(request: HttpRequest, read: Filter, *queues: str) -> Filter:
    """Return the filter as this person may use it: if payloads or fields are masked, words search only names.

    `queues` are the queues whose messages are listed; if empty, the queues that the filter names, or else all. Raises
    `FilterError` if a term compares masked values.
    """
    asked = [term for term in read.terms if term.key in MASKED_KEYS]
    if not asked and not any(term.key == "text" for term in read.terms):
        return read
    if reason := denial_here(request, "see_payloads"):
        if asked:
            raise asked[0].error(f"{asked[0].key}: is masked. {reason}", "a key about facts, such as class: or age:")
        return read.held_to_names()
    return read if may_here(request, "reveal") else Masking().readable(read, *queues)


HELD_TO_NAMES = (
    "Words search names only: classes, queues and message ids. Payloads or fields are masked for you, so errors and"
    " payloads are not searched."
)


def note(request: HttpRequest, filter: CheckedFilter, *queues: str) -> str:
    """Say that words search only names, or that a term compares values that rows show masked; else return ""."""
    terms = filter.filter.terms
    if any(term.key == "name" and not term.source.lower().lstrip("-").startswith("name:") for term in terms):
        return HELD_TO_NAMES
    if not any(term.key in {"text", *MASKED_KEYS} for term in terms):
        return ""
    masked = Masking().masked_terms(filter.filter, *queues)
    fields = ", ".join(dict.fromkeys(f"{term.name}:" for term in masked))
    return (
        f"{fields} may look into masked fields. Rows show a mask there; the filter compares the values."
        if masked
        else ""
    )


def saved(request: HttpRequest, page: SavedFilter.Page, action: str) -> SavedFilters:
    """Return the saved filters that this person sees beside the filter bar of a page. One query."""
    return SavedFilters(page.value, action, kept_for(request, page))


def kept_for(request: HttpRequest, page: SavedFilter.Page | None = None) -> list[SavedFilter]:
    """Return the person's saved filters, and those of others that name no hidden queue and no masked field."""
    person, held = request.user.get_username(), reach(request.user, "see_metadata")
    known, is_masked = JobReach(held), bool(denial_here(request, "see_payloads"))
    return [
        one
        for one in saved_filters.seen_by(person, page)
        if one.owner == person
        or (
            (held.is_everything or _names_reached(one, known)) and not (is_masked and one.keys & {"text", *MASKED_KEYS})
        )
    ]


def _names_reached(kept: SavedFilter, known: JobReach) -> bool:
    try:
        terms = parse(kept.text).terms
    except FilterError:
        return False
    return known.has([name for term in terms if term.key == "queue" for name in term.literals]) and all(
        known.has_tenant(name) for term in terms if term.key == "tenant" for name in term.literals
    )


def selected_text(request: HttpRequest) -> str:
    """Return the filter for an action on a list: the ids of the ticked rows, else the filter in the address."""
    ids = [value for value in request.GET.getlist("id") if value.isascii() and value.isdigit()][:MAX_SELECTED]
    return str(Filter().with_term("id", *ids)) if ids else typed(request)


def typed(request: HttpRequest) -> str:
    """Return the filter in the address, cut at one character more than allowed: too long a filter is still refused."""
    return request.GET.get("q", "").strip()[: MAX_FILTER_CHARACTERS + 1]
