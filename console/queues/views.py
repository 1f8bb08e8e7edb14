"""Pages of one queue: its state now, its message groups and its consumers; and the buttons Pause and Resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.access.roles import reach, requires
from console.access.subjects import QUEUE
from console.alerts import lines as alert_lines
from console.charts import drawing as charts
from console.charts.drawing import Chart, Series
from console.dead_letters.failure_groups import lists
from console.history.charts import depths, lines, threshold_near
from console.masking import masked
from console.overview import diagnoses, standings
from console.queues import consumers as consumer_table
from console.queues import head as queue_head
from console.queues.forms import LaneLimitForm
from console.queues.head import QueueHead
from console.web import pagination, sorting, wording
from console.web.forms import refused
from console.web.forms.fields import ReasonForm, refusals
from console.web.htmx import render_page
from console.web.pagination import Pager, SortLink
from console.web.sidebar import Badge
from console.web.sorting import MAX_SORTED, Columns, arrange_first, asks_for
from console.web.wording import plural
from dlq.search.pages import PAGE_ROWS
from metrics.alerts import alert_list
from queues.control import queues
from queues.counters.groups import Lane, read_lanes
from queues.history.last_hour import HistoryPoint, dead_lettered, sparklines
from queues.models import Failure

# What the charts may show -> (label, points of history, points per drawn point).
SPANS = {"10m": ("10 m", 60, 1), "1h": ("1 h", 360, 4)}
LATEST_FAILURES = 8
MAX_GROUP_CHARACTERS = 200
RATES = (
    *("published_per_second", "delivered_per_second", "acked_per_second", "nacked_per_second"),
    *("dead_lettered_per_second", "removed_per_second"),
)


@require_safe
@requires("see_metadata", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>: its state and diagnosis, with charts and failures, or with the groups of its dead letters."""
    head = queue_head.find(name)
    firing = alert_lines.lines(alert_list.firing(name, head.numbers.dead_letter_queue))
    context = {"title": name, "head": head, "tab": "now", "alerts": firing}
    if head.numbers.is_dead_letter_queue:
        sources = queue_head.sources(head.numbers, reach(request.user, "see_metadata"))
        context |= {"failure_groups": lists.read_of_holder(request, name), "sources": sources}
        return render_page(request, "queues/show.html", "queues/_dead_letter_queue.html", context)
    context |= {"explained": diagnoses.explain(head.numbers)}
    failures = Failure.objects.filter(queue_id=head.numbers.queue_id).order_by("-failed_at")[:LATEST_FAILURES]
    context |= _history(request, head) | {"failures": masked.failures(name, failures)}
    return render_page(request, "queues/show.html", "queues/_status.html", context)


def _history(request: HttpRequest, head: QueueHead) -> dict[str, object]:
    """Draw three charts over the time span in the address."""
    span = request.GET.get("span", "")
    span = span if span in SPANS else "10m"
    _, points, step = SPANS[span]
    history = sparklines([head.numbers.queue_id], points)[head.numbers.queue_id]
    died = dead_lettered(history[-SPANS["10m"][1] :])
    history = [_merged(history[start : start + step]) for start in range(0, len(history), step)]
    return {
        "charts": _charts(history, head.queue.alert_oldest_age_seconds),
        "died": died,
        "span": span,
        "spans": [(value, label) for value, (label, _, _) in SPANS.items()],
    }


def _charts(history: Sequence[HistoryPoint], alert_age_seconds: float) -> list[Chart]:
    def values(name: str) -> list[float | None]:
        return [None if point.is_gap else getattr(point, name) or 0.0 for point in history]

    times, ages = [point.at for point in history], values("oldest_ready_age_seconds")
    rates = lines(
        values,
        ("sent", "sent", "published_per_second"),
        ("completed", "completed", "acked_per_second"),
        ("failed", "failed", "nacked_per_second"),
    )
    return [
        charts.draw("Messages", times, depths(values), subtitle="by state"),
        charts.draw("Messages per second", times, rates, subtitle="sent, completed and failed", say=wording.rate),
        charts.draw(
            "Oldest ready message",
            times,
            [Series("oldest ready", "ready", ages, filled=True)],
            subtitle=f"limit {wording.span(alert_age_seconds)}",
            say=wording.span,
            threshold=threshold_near(ages, alert_age_seconds),
        ),
    ]


def _merged(group: Sequence[HistoryPoint]) -> HistoryPoint:
    """Merge points into one: the depths of the last, the mean of the rates. Only gaps make a gap."""
    known = [point for point in group if not point.is_gap]
    if not known:
        return group[-1]
    means = {name: sum(getattr(point, name) for point in known) / len(known) for name in RATES}
    oldest = max(point.oldest_ready_age_seconds or 0.0 for point in known)
    return replace(known[-1], at=group[-1].at, oldest_ready_age_seconds=oldest, **means)


@require_POST
@requires("pause", of=QUEUE)
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/pause: stop deliveries. Messages in flight stay with their consumers."""
    queue_head.find(name)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        page = reverse("queue", args=[name])
        return refused.show(request, form, title=f"Pause {name}", verb=f"Pause {name}", page=page)
    if queues.pause_queue(name, actor=request.user.get_username(), reason=form.cleaned_data["reason"]):
        messages.success(request, f"Paused {name}. It still accepts messages.")
    else:
        messages.warning(request, f"{name} was paused already.")
    return _back_to(name)


@require_POST
@requires("pause", of=QUEUE)
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/resume: start deliveries again."""
    queue_head.find(name)
    if queues.resume_queue(name, actor=request.user.get_username()):
        messages.success(request, f"Resumed {name}.")
    else:
        messages.warning(request, f"{name} was not paused.")
    return _back_to(name)


def _back_to(name: str) -> HttpResponse:
    standings.forget()
    return redirect("queue", name)


GROUP_COLUMNS: Columns[Lane] = {
    "group": lambda lane: lane.group_id,
    "waiting": lambda lane: lane.waiting,
    "since": lambda lane: lane.waiting_since,
    "in_flight": lambda lane: lane.under_way,
}


@require_safe
@requires("see_metadata", of=QUEUE)
def groups(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/groups: its message groups, or the one in the address."""
    head = queue_head.find(name)
    group, after = request.GET.get("group", "")[:MAX_GROUP_CHARACTERS], request.GET.get("after")
    after = after[:MAX_GROUP_CHARACTERS] if after is not None else None
    if asks_for(request, GROUP_COLUMNS) and not group:
        lanes, links, pager = _sorted_groups(request, head)
    else:
        lanes, links, pager = _groups_by_id(request, head, after, group)
    context = {
        "title": f"Groups · {name}",
        "head": head,
        "tab": "groups",
        "lanes": lanes,
        "sort": links,
        "group": group,
        "limit": head.queue.group_limit,
        "later": after is not None,
        "limit_form": refused.restore(request, LaneLimitForm) or LaneLimitForm(initial={"group_id": group}),
        "pager": pager,
    }
    return render_page(request, "queues/groups.html", "queues/_groups.html", context)


Groups = tuple[Sequence[Lane], Mapping[str, SortLink], Pager]


def _groups_by_id(request: HttpRequest, head: QueueHead, after: str | None, group: str) -> Groups:
    """Read a page of groups in the order of their ids, forward only."""
    found = read_lanes(head.numbers.queue_id, after, PAGE_ROWS + 1, group or None)
    lanes = found[:PAGE_ROWS]
    following = f"{request.path}?{urlencode({'after': lanes[-1].group_id})}" if len(found) > PAGE_ROWS else ""
    pager = Pager(f"{plural(len(lanes), 'group')} shown", "", following)
    return lanes, sorting.links(request, "", lanes, GROUP_COLUMNS, {}), pager


def _sorted_groups(request: HttpRequest, head: QueueHead) -> Groups:
    """Sort the first groups by a column."""
    found = read_lanes(head.numbers.queue_id, None, MAX_SORTED)
    listed = arrange_first(request, found, GROUP_COLUMNS, {}, kind="first")
    words = f"{plural(len(listed.page.rows), 'group')} shown{listed.limits}"
    return listed.page.rows, listed.links, pagination.pager(request, listed.page, words)


@require_POST
@requires("configure", of=QUEUE)
def limit_group(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/groups/limit: set the limit of one group, or remove it if the number is empty."""
    head = queue_head.find(name)
    form = LaneLimitForm(request.POST)
    if form.is_valid():
        given = dict(form.cleaned_data)
        group = given.pop("group_id")
        with refusals(form):
            queues.set_group_policy(name, group, actor=request.user.get_username(), **given)
            messages.success(request, f"The group {group} has {_policy(form)}.")
            return redirect("queue_groups", name)
    page = reverse("queue_groups", args=[name])
    if not head.queue.group_limit:  # the page shows no form
        return refused.show(request, form, title=f"Limit of a group of {name}", verb="Set limit", page=page)
    return refused.redirect_back(request, form, page)


def _policy(form: LaneLimitForm) -> str:
    """Word the limits that a group was given."""
    given = form.cleaned_data
    limits = [
        f"a limit of {plural(given['max_in_flight'], 'message')} in flight" if given["max_in_flight"] else "",
        f"a limit of {plural(given['max_waiting'], 'waiting message')}" if given["max_waiting"] else "",
        f"an interval of {wording.span(given['release_interval'])}" if given["release_interval"] is not None else "",
    ]
    return wording.listing([limit for limit in limits if limit]) or "the queue's limit"


def consumers_seen(request: HttpRequest) -> Badge:
    """Count the consumers that were seen in the last minute."""
    count = standings.of_request(request).consumers
    return Badge(count, f"{plural(count, 'consumer')} seen in the last minute")


@require_safe
@requires("see_metadata", in_part=True)
def browse_consumers(request: HttpRequest) -> HttpResponse:
    """GET /consumers: the consumers of all queues seen within a day, those that receive now first."""
    among = reach(request.user, "see_metadata").among("queue__name", "queue__tenant__name")
    context = {"title": "Consumers", **consumer_table.read(request, among)}
    return render_page(request, "queues/consumers/browse.html", "queues/consumers/_list.html", context)


@require_safe
@requires("see_metadata", of=QUEUE)
def consumers(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/consumers: the consumers of one queue, and the work of each."""
    head = queue_head.find(name)
    context = {"title": f"Consumers · {name}", "head": head, "tab": "consumers"}
    context |= consumer_table.read(request, Q(queue_id=head.numbers.queue_id))
    return render_page(request, "queues/consumers.html", "queues/_consumers.html", context)
