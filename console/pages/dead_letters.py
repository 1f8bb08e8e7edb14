"""Dead letters: the clusters with the most of them, and the list, for any filter."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console import cluster_lists, fleet, keyset, masked, roles, wording
from console.filterbar import FilterBar, Suggestion, no_filter, readable_filter, saved, typed
from console.htmx import render_page
from console.roles import requires
from dlq import browse
from dlq.counting import BoundedCount, count_rows
from dlq.filters import KEYS, Filter, FilterError, Target
from dlq.finding import FEW, Order, find
from dlq.saved_filters import SavedFilter


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters: the worst clusters of what the filter selects, and the list, newest first."""
    chosen, mistake = read_filter(request)
    place, see = keyset.place(request), roles.may_here(request, "see_payloads")
    try:
        page = browse.dead_letters(chosen, place, with_payloads=see)
    except FilterError as error:  # only its run showed that it takes too long
        chosen, mistake = no_filter(request), error
        page = browse.dead_letters(chosen, place, with_payloads=see)
    page = masked.letter_page(page)
    count = _count(request, chosen)
    shown = f"{wording.number(len(page.rows))} shown of {count}"
    context = {
        "title": "Dead letters",
        "bar": filter_bar(request, mistake),
        "saved": saved(request, SavedFilter.Page.DEAD_LETTERS, f"{reverse('dead_letters')}?q="),
        "chosen": chosen,
        "canonical": str(chosen),
        "clusters": None if place.before or place.after else cluster_lists.read_few(request, chosen),
        "count": count,
        "export_url": f"{reverse('export_dead_letters')}?{urlencode({'q': str(chosen)})}",
        "page": page,
        "pager": keyset.pager(request, page, shown),
    }
    return render_page(request, "dead_letters/show.html", "dead_letters/_list.html", context)


def read_filter(request: HttpRequest) -> tuple[Filter, FilterError | None]:
    """The filter in the address, or the one that selects all beside the mistake."""
    try:
        chosen = readable_filter(typed(request), request)
        chosen.compile(Target.DEAD_LETTER, datetime.now(UTC))
    except FilterError as error:
        return no_filter(request), error
    return chosen, None


def filter_bar(request: HttpRequest, mistake: FilterError | None) -> FilterBar:
    """The bar above dead letters."""
    return FilterBar(
        text=typed(request),
        label="Filter dead letters",
        action=reverse("dead_letters"),
        placeholder="queue: class: error: age: payload.path:",
        keys=[
            Suggestion(f"{key.name}." if key.takes_path else f"{key.name}:", key.help)
            for key in KEYS.values()
            if Target.DEAD_LETTER in key.targets and key.name != "state"
        ],
        example='class:TimeoutError payload.partner:"acme-eu" age:<1d',
        mistake=mistake,
        suggest_url=reverse("filter_suggestions"),
    )


def _count(request: HttpRequest, chosen: Filter) -> BoundedCount:
    """How many the filter selects; without one the counters know."""
    if not chosen:
        return BoundedCount(fleet.seen_by(request.user).dead, exact=True)
    return count_rows(find(chosen, datetime.now(UTC)).ids(FEW + 1, Order.ANY))
