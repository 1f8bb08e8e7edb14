"""The page of dead letters: the worst failure groups and the list, for any filter."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.dead_letters.failure_groups import lists
from console.filters.filter_bar import FilterBar, dead_letter_filter, saved, suggestions, typed
from console.masking import masked
from console.overview import standings
from console.web import pagination, wording
from console.web.htmx import render_page
from console.web.sidebar import Badge
from console.web.wording import plural
from dlq.filters import FilterError, Target
from dlq.search.checked_filter import CheckedFilter, everything
from dlq.search.counting import BoundedCount, count_rows
from dlq.search.dead_letter_list import dead_letters
from dlq.search.finding import find
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
    place, see = pagination.place(request), roles.may_here(request, "see_payloads")
    try:
        page = dead_letters(filter, place, with_payloads=see)
    except FilterError as error:  # the filter took too long to run
        filter, mistake = everything(roles.reach(request.user, "see_metadata")), error
        page = dead_letters(filter, place, with_payloads=see)
    page = masked.dead_letter_page(page)
    if filter:
        count = count_rows(find(filter, datetime.now(UTC)).ids(FEW + 1, Order.ANY))
    else:  # the counters have the number
        count = BoundedCount(standings.of_request(request).dead, exact=True)
    context = {
        "title": "Dead letters",
        "bar": filter_bar(request, mistake),
        "saved": saved(request, SavedFilter.Page.DEAD_LETTERS, f"{reverse('dead_letters')}?q="),
        "chosen": filter,
        "canonical": str(filter),
        "failure_groups": None if place.before or place.after else lists.read_few(request, filter),
        "count": count,
        "export_url": f"{reverse('export_dead_letters')}?{urlencode({'q': str(filter)})}",
        "page": page,
        "pager": pagination.pager(request, page, f"{wording.number(len(page.rows))} shown of {count}"),
    }
    return render_page(request, "dead_letters/show.html", "dead_letters/_list.html", context)


def read_filter(request: HttpRequest) -> tuple[CheckedFilter, FilterError | None]:
    """Return the filter in the address; for a mistake, the filter that selects all, and the mistake."""
    try:
        return dead_letter_filter(request, typed(request)), None
    except FilterError as error:
        return everything(roles.reach(request.user, "see_metadata")), error


def filter_bar(request: HttpRequest, mistake: FilterError | None) -> FilterBar:
    """Make the filter bar above dead letters."""
    return FilterBar(
        text=typed(request),
        label="Filter dead letters",
        action=reverse("dead_letters"),
        placeholder="queue: class: error: age: payload.path:",
        keys=suggestions(Target.DEAD_LETTER, "state"),
        example='class:TimeoutError payload.partner:"acme-eu" age:<1d',
        mistake=mistake,
        suggest_url=reverse("filter_suggestions"),
    )
