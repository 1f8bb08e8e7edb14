"""The page of dead letters: the worst failure groups and the list, for any filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.dead_letters.failure_groups import lists
from console.filters.filter_bar import FilterBar, dead_letter_filter, note, saved, suggestions, typed
from console.masking import masked
from console.overview import standings
from console.web import pagination, wording
from console.web.htmx import render_page
from console.web.pagination import SortLink
from console.web.sidebar import Badge
from console.web.sorting import Columns, SortedPage, arrange_read
from console.web.wording import plural
from dlq.filters import FilterError, Target
from dlq.search.checked_filter import CheckedFilter, everything
from dlq.search.counting import BoundedCount, count_rows
from dlq.search.dead_letter_list import DeadLetterRow, Sort, dead_letters, sorts
from dlq.search.explanations import explain
from dlq.search.finding import find
from dlq.search.pages import Page, PagePosition
from dlq.search.samples import Place
from dlq.search.saved_filters import SavedFilter
from queues.dead_letters.ids import FEW, Order


def dead(request: HttpRequest) -> Badge:
    """Count the dead letters; the badge is an alarm when a queue has more than its limit."""
    now = standings.of_request(request)
    return Badge(now.dead, plural(now.dead, "dead letter"), "bad" if now.dead_alarming else "")


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters: the worst failure groups that the filter selects, and the list, newest first."""
    filter, mistake = read_filter(request)
    place = pagination.place(request)
    try:
        listed = _listed(request, filter)
    except FilterError as error:  # the filter took too long to run
        filter, mistake = everything(roles.reach(request.user, "see_metadata")), error
        listed = _listed(request, filter)
    page = listed.page
    if filter:
        count = count_rows(find(filter, datetime.now(UTC)).ids(FEW + 1, Order.ANY))
    else:  # the counters have the number
        count = BoundedCount(standings.of_request(request).dead, exact=True)
    context = {
        "title": "Dead letters",
        "bar": filter_bar(request, mistake, note(request, filter)),
        "saved": saved(request, SavedFilter.Page.DEAD_LETTERS, f"{reverse('dead_letters')}?q="),
        "chosen": filter,
        "canonical": str(filter),
        "failure_groups": None if place.before or place.after else lists.read_few(request, filter),
        "count": count,
        "export_url": f"{reverse('export_dead_letters')}?{urlencode({'q': str(filter)})}",
        "page": page,
        "sort": listed.links,
        "order": _order(listed.links),
        "names_filter": str(filter.filter.held_to_names()) if page.searched_to else "",
        "explanations": [] if page.rows or page.searched_to or mistake else explain(filter, Place(reach=filter.reach)),
        "pager": pagination.pager(request, page, f"{wording.number(len(page.rows))} shown of {count}{listed.limits}"),
    }
    return render_page(request, "dead_letters/show.html", "dead_letters/_list.html", context)


COLUMNS: Columns[DeadLetterRow] = {
    "message": lambda row: row.message_id,
    "error": lambda row: f"{(row.error_class or '').rpartition('.')[2]} {row.reason}",
    "queue": lambda row: row.source_queue,
    "attempts": lambda row: row.receive_count,
    "redriven": lambda row: row.redrive_count,
}


def _listed(request: HttpRequest, filter: CheckedFilter) -> SortedPage[DeadLetterRow]:
    """Read a page in an order that an index has; another column sorts the newest dead letters."""
    served, asked = sorts(filter), request.GET.get("sort", "")
    sort = Sort(asked) if asked in served else Sort.NEWEST
    whole = {one.value.removeprefix("-"): one.value for one in served if not one.ascending}

    def read(place: PagePosition, size: int) -> Page[DeadLetterRow]:
        see = roles.may_here(request, "see_payloads")
        return dead_letters(filter, place, size=size, with_payloads=see, sort=sort)

    columns = {name: value for name, value in COLUMNS.items() if name not in whole}
    listed = arrange_read(request, read, columns, sort, whole)
    return replace(listed, page=masked.dead_letter_page(listed.page))


def _order(links: Mapping[str, SortLink]) -> str:
    """Name the order in force, as the heading of the list says it."""
    column, direction = next((name, link.direction) for name, link in links.items() if link.direction)
    return ORDERS.get(f"{'-' if direction == 'descending' else ''}{column}", "By another column")


ORDERS = {
    Sort.NEWEST: "Newest first",
    Sort.OLDEST: "Oldest first",
    Sort.HIGHEST_ID: "Highest message id first",
    Sort.LOWEST_ID: "Lowest message id first",
}


def read_filter(request: HttpRequest) -> tuple[CheckedFilter, FilterError | None]:
    """Return the filter in the address; for a mistake, the filter that selects all, and the mistake."""
    try:
        return dead_letter_filter(request, typed(request)), None
    except FilterError as error:
        return everything(roles.reach(request.user, "see_metadata")), error


def filter_bar(request: HttpRequest, mistake: FilterError | None, note: str = "") -> FilterBar:
    """Make the filter bar above dead letters."""
    return FilterBar(
        text=typed(request),
        label="Filter dead letters",
        action=reverse("dead_letters"),
        placeholder="any word, or queue: class: age: payload.path:",
        keys=suggestions(Target.DEAD_LETTER, "state"),
        kept=pagination.kept(request),
        example='class:TimeoutError payload.partner:"acme-eu" age:<1d',
        mistake=mistake,
        note=note,
        suggest_url=reverse("filter_suggestions"),
    )
