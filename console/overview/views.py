"""The first page: what hurts, worst first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access.roles import is_scoped, requires
from console.administration import old_snapshots
from console.alerts import causes
from console.alerts import lines as alert_lines
from console.filters.filter_bar import FilterBar, Suggestion, typed
from console.filters.list_filter_grammar import Key, Term, parse
from console.fleet import beside, presence
from console.fleet.beside import Beside, Held
from console.overview import diagnoses, standings
from console.overview.standings import Standing, Standings
from console.overview.verdicts import Health, Verdict, judge
from console.redrives import approval_views
from console.web import pagination
from console.web.htmx import render_page
from console.web.pagination import Pager
from console.web.sidebar import Badge
from console.web.sorting import Columns, arrange
from console.web.wording import plural
from dlq.filters import FilterError
from metrics.diagnosis import Diagnosis
from metrics.reading.xmin_holders import Holder, read_holders
from queues.counters.queue_numbers import QueueNumbers
from queues.history.last_hour import dead_lettered, sparklines
from queues.reach import SYSTEM_TENANT

KEYS = {
    "queue": Key("Part of the queue's name."),
    "tenant": Key("The tenant that owns the queue."),
    "health": Key("The health of the queue.", tuple(Health)),
    "is": Key(
        "A property: dlq shows dead-letter queues, system shows the console's own queues.",
        ("closed", "dlq", "empty", "idle", "system"),
    ),
}


COLUMNS: Columns[Standing] = {
    "queue": lambda one: one.numbers.name,
    "ready": lambda one: one.numbers.ready,
    "in_flight": lambda one: one.numbers.leased,
    "scheduled": lambda one: one.numbers.scheduled,
    "oldest": lambda one: one.numbers.oldest_ready_age_seconds,
    "in": lambda one: one.numbers.in_per_second,
    "out": lambda one: one.numbers.out_per_second,
    "dead": lambda one: one.numbers.dead,
    "consumers": lambda one: one.numbers.consumers,
}


@dataclass(frozen=True)
class Row:
    """One queue as the table shows it."""

    numbers: QueueNumbers
    verdict: Verdict
    ready_history: Sequence[float | None]
    died: int
    """Messages that became dead letters in the last ten minutes."""
    diagnosis: Diagnosis
    cells: Sequence[Held]
    """What each cell holds of a placed queue."""


def breaching(request: HttpRequest) -> Badge:
    """Count the queues that breach a limit."""
    count = standings.of_request(request).breaching
    return Badge(count, f"{plural(count, 'queue')} breaching", "bad")


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /: totals, and the queues that the filter selects, worst first or by a column."""
    now = standings.of_request(request)
    text, mistake = typed(request), None
    selected: Sequence[Standing] = now.queues
    try:
        selected = _select(now, text)
    except FilterError as error:
        mistake = error
    # The whole list is in memory, so a page is a slice.
    arranged, most = arrange(request, selected, COLUMNS), pagination.size(request)
    start = pagination.whole(request.GET.get("from", "")) or 0
    start = start if start < len(selected) else 0
    holders, firing = read_holders(), alert_lines.loud(request)
    cells = beside.read(request)
    rows = _rows(arranged.rows[start : start + most], holders, cells)
    hidden = 0 if text else sum(not _is_to_be_seen(one, ()) for one in now.queues)
    return render_page(
        request,
        "overview/show.html",
        "overview/_queues.html",
        {
            "title": "Queues",
            "standings": now,
            "firing": firing,
            "causes": causes.count(firing),
            "watchdog_missed_since": alert_lines.watchdog_missed_since(),
            "awaiting": approval_views.job_counts(request)[1],
            "old_snapshot": None if is_scoped(request.user) else old_snapshots.warning(holders),
            "rows": rows,
            "died": sum(row.died for row in rows) if len(rows) + hidden == len(now.queues) else None,
            "fleet": cells,
            "has_fleet_tab": presence.has_tab(request),
            "sort": arranged.links,
            "selected": len(selected),
            "hidden": hidden,
            "pager": _pager(request, start, len(selected), most),
            "bar": FilterBar(
                text=text,
                label="Filter queues",
                action=reverse("overview"),
                placeholder="Filter by name, or queue: tenant: health: is:",
                keys=[Suggestion(f"{name}:", key.help) for name, key in KEYS.items()],
                example="health:breaching tenant:acme",
                kept=pagination.kept(request),
                mistake=mistake,
            ),
        },
    )


def _select(all_queues: Standings, text: str) -> Sequence[Standing]:
    """Return the queues that `text` selects, worst first. Raises FilterError at the first mistake.

    Dead-letter queues appear only if the filter asks for them, because their messages count at their source queues. The
    console's own queues appear if the filter asks for them, or if they are not healthy.
    """
    terms = parse(text, KEYS, wordless="queue")
    found = [standing for standing in all_queues.queues if _is_to_be_seen(standing, terms)]
    if any(term.key == "is" and "dlq" in term.values and not term.negated for term in terms):
        found += [Standing(numbers, judge(numbers)) for numbers in all_queues.dead_letter_queues]
    return [standing for standing in found if all(_matches(term, standing) for term in terms)]


def _is_to_be_seen(standing: Standing, terms: Sequence[Term]) -> bool:
    if standing.numbers.tenant != SYSTEM_TENANT or standing.verdict.health != Health.HEALTHY:
        return True
    return any(term.key == "tenant" or (term.key == "is" and "system" in term.values) for term in terms)


def _matches(term: Term, standing: Standing) -> bool:
    return any(_TESTS[term.key](standing, value) for value in term.values) is not term.negated


def _is(standing: Standing, word: str) -> bool:
    numbers = standing.numbers
    return {
        "closed": numbers.closed,
        "dlq": numbers.is_dead_letter_queue,
        "empty": not (numbers.ready or numbers.leased or numbers.scheduled or numbers.waiting or numbers.dead),
        "system": numbers.tenant == SYSTEM_TENANT,
        "idle": not (numbers.in_per_second or numbers.out_per_second),
    }[word]


_TESTS: dict[str, Callable[[Standing, str], bool]] = {
    "queue": lambda one, value: value.lower() in one.numbers.name.lower(),
    "tenant": lambda one, value: value.lower() == one.numbers.tenant.lower(),
    "health": lambda one, value: value == one.verdict.health,
    "is": _is,
}


def _rows(standings: Sequence[Standing], holders: Sequence[Holder], cells: Beside | None) -> list[Row]:
    """Return the rows of one page. One query reads all histories; diagnoses cost the same for one queue as for all."""
    histories = sparklines([standing.numbers.queue_id for standing in standings])
    explained = diagnoses.read_diagnoses([standing.numbers for standing in standings], holders)
    return [
        Row(
            one.numbers,
            one.verdict,
            [point.ready for point in histories[queue_id]],
            dead_lettered(histories[queue_id]),
            explained[queue_id],
            cells.of_queue(one.numbers.name) if cells else (),
        )
        for queue_id, one in ((one.numbers.queue_id, one) for one in standings)
    ]


def _pager(request: HttpRequest, start: int, count: int, most: int) -> Pager:
    last = min(start + most, count)
    words = f"{start + 1} to {last} of {plural(count, 'queue')}" if count else "no queues"
    return Pager(
        words,
        before_url=pagination.address(request, {"from": str(max(start - most, 0))}) if start else "",
        after_url=pagination.address(request, {"from": str(last)}) if last < count else "",
        row_counts=pagination.row_counts(request, count),
    )
