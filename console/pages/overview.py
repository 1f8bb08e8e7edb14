"""The first page: what hurts, worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import diagnoses, fleet, old_snapshots, queue_filter
from console.filterbar import FilterBar, Suggestion, typed
from console.fleet import Standing
from console.htmx import render_page
from console.keyset import Pager
from console.roles import is_scoped, requires
from console.verdicts import Verdict
from console.wording import plural
from dlq.filters import FilterError
from metrics.diagnosis import Diagnosis
from metrics.xmin_holders import Holder, read_holders
from queues.counters import QueueNumbers
from queues.history import sparklines

PAGE_QUEUES = 50


@dataclass(frozen=True)
class Row:
    """One queue as the table shows it."""

    numbers: QueueNumbers
    verdict: Verdict
    ready_history: Sequence[float]
    diagnosis: Diagnosis


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /: totals, and the queues that the filter selects, worst first, PAGE_QUEUES to a page."""
    now = fleet.seen_by(request.user)
    text, mistake = typed(request), None
    standings: Sequence[Standing] = now.standings
    try:
        standings = queue_filter.select(now, text)
    except FilterError as error:
        mistake = error
    start = _start(request, len(standings))
    holders = read_holders()
    return render_page(
        request,
        "overview/show.html",
        "overview/_queues.html",
        {
            "title": "Overview",
            "fleet": now,
            "old_snapshot": None if is_scoped(request.user) else old_snapshots.warning(holders),
            "rows": _rows(standings[start : start + PAGE_QUEUES], holders),
            "selected": len(standings),
            "pager": _pager(request, start, len(standings)),
            "bar": _bar(text, mistake),
        },
    )


def _bar(text: str, mistake: FilterError | None) -> FilterBar:
    return FilterBar(
        text=text,
        label="Filter queues",
        action=reverse("overview"),
        placeholder="Filter by name, or queue: tenant: health: is:",
        keys=[Suggestion(f"{name}:", key.help) for name, key in queue_filter.KEYS.items()],
        example="health:breaching tenant:acme",
        mistake=mistake,
    )


def _rows(standings: Sequence[Standing], holders: Sequence[Holder]) -> list[Row]:
    """The rows of one page; their histories are one query, their diagnoses as many as for one queue."""
    histories = sparklines([standing.numbers.queue_id for standing in standings])
    explained = diagnoses.read_diagnoses([standing.numbers for standing in standings], holders)
    return [
        Row(
            one.numbers,
            one.verdict,
            [point.ready for point in histories[one.numbers.queue_id]],
            explained[one.numbers.queue_id],
        )
        for one in standings
    ]


def _start(request: HttpRequest, count: int) -> int:
    """Where the page begins. The list is whole in memory, so a page is a slice of it."""
    text = request.GET.get("from", "")
    start = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    return start if start < count else 0


def _pager(request: HttpRequest, start: int, count: int) -> Pager:
    last = min(start + PAGE_QUEUES, count)
    words = f"{start + 1} to {last} of {plural(count, 'queue')}" if count else "no queues"
    return Pager(
        words,
        before_url=_url(request, max(start - PAGE_QUEUES, 0)) if start else "",
        after_url=_url(request, last) if last < count else "",
    )


def _url(request: HttpRequest, start: int) -> str:
    parameters = {"q": typed(request), "from": start or ""}
    return f"{reverse('overview')}?{urlencode({name: value for name, value in parameters.items() if value})}"
