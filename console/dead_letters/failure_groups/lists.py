"""The list of failure groups on two pages: a few above the dead letters, and all on a page of their own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from console.access.roles import reach
from console.masking import masked
from console.web import pagination
from console.web.wording import plural
from dlq.failure_groups.listing import Narrowing, list_groups
from dlq.failure_groups.reading import STATES, FailureGroup, State
from dlq.filters import Filter, FilterError
from dlq.masking.rules import Masking
from dlq.search.checked_filter import CheckedFilter
from dlq.search.pages import Page
from queues.failure_groups.order import Sort

FEW_GROUPS = 10

SORT_LABELS = {Sort.WORST: "Most affected", Sort.NEWEST: "Newest"}


@dataclass(frozen=True)
class Choice:
    """Link to another order or state of the list."""

    label: str
    url: str
    current: bool


@dataclass(frozen=True)
class Row:
    """One failure group, and the filter that selects its messages within the filter of the list."""

    group: FailureGroup
    narrowed: str


GroupList = dict[str, object]
"""A page of failure groups with the ways to see others, as `dead_letters/failure_groups/_groups.html` shows them."""


def read(request: HttpRequest, filter: CheckedFilter) -> GroupList:
    """Read the page that the address names."""
    state, sort = request.GET.get("state", ""), request.GET.get("sort", "")
    narrowing = Narrowing.of(filter, State(state) if state in STATES else None)
    order = Sort(sort) if sort in set(Sort) else Sort.WORST
    page = list_groups(narrowing, order, pagination.place(request))
    return _shown(request, filter.filter, narrowing, order, page)


def read_few(request: HttpRequest, filter: CheckedFilter) -> GroupList:
    """Read the worst failure groups that the filter selects, for a list of messages."""
    narrowing = Narrowing.of(filter)
    return _shown(request, filter.filter, narrowing, Sort.WORST, list_groups(narrowing, size=FEW_GROUPS))


def read_of_holder(request: HttpRequest, name: str) -> GroupList:
    """Read the worst failure groups of the queues whose dead-letter queue this is."""
    narrowing = Narrowing.of_holder(name, reach(request.user, "see_metadata"))
    page = list_groups(narrowing, size=FEW_GROUPS)
    return _shown(request, Filter().with_term("queue", name), narrowing, Sort.WORST, page)


def _shown(
    request: HttpRequest, filter: Filter, narrowing: Narrowing, sort: Sort, page: Page[FailureGroup] | None
) -> GroupList:
    shown, masking = page or Page(), Masking()
    state = narrowing.state
    groups = [masked.group(one, masking) for one in shown.rows]
    states = [Choice(one.capitalize(), _url(filter, sort, one), one is state) for one in STATES]
    return {
        # None if the database needed too long to read the groups.
        "rows": None if page is None else [Row(one, _narrowed(filter, one.fingerprint)) for one in groups],
        "snoozed": sum(one.is_snoozed for one in groups),
        "pager": pagination.pager(request, shown, f"{plural(len(shown.rows), 'failure group')} shown", sized=False),
        "sorts": [Choice(label, _url(filter, one, state), one is sort) for one, label in SORT_LABELS.items()],
        "states": [Choice("Any state", _url(filter, sort, None), state is None), *states],
        # Terms that failure groups do not support. The list ignores them, and the page says so.
        "unasked": " ".join(str(term) for term in narrowing.unasked),
        "narrowed": bool(filter) or state is not None,
        "all_url": _url(filter, sort, None),
    }


def _narrowed(filter: Filter, fingerprint: str) -> str:
    """Return the filter, narrowed to this failure group; a filter of the group alone if that is too long."""
    try:
        return str(filter.without("fp").with_term("fp", fingerprint))
    except FilterError:
        return str(Filter().with_term("fp", fingerprint))


def _url(filter: Filter, sort: Sort, state: State | None) -> str:
    parameters = {"q": str(filter), "sort": sort.value if sort is not Sort.WORST else "", "state": state or ""}
    asked = urlencode({name: value for name, value in parameters.items() if value})
    return f"{reverse('failure_groups')}?{asked}" if asked else reverse("failure_groups")
