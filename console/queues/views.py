"""One queue: how it stands, how it got there, what failed last, its message groups and who receives from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
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
from console.queues import head as queue_head
from console.queues.forms import LaneLimitForm
from console.queues.head import QueueHead
from console.web import wording
from console.web.forms import ReasonForm, first_mistake
from console.web.htmx import render_page
from console.web.pagination import Pager
from console.web.sidebar import Badge
from console.web.wording import plural
from dlq.search.pages import PAGE_ROWS
from metrics.alerts import alert_list
from queues.control import queues
from queues.counters.groups import read_lanes
from queues.errors import SignalboxError
from queues.history.last_hour import HistoryPoint, sparklines
from queues.models import Consumer, Failure, Lease

# What the charts may show -> (label, points of history, points per drawn point).
SPANS = {"10m": ("10 m", 60, 1), "1h": ("1 h", 360, 4)}
LATEST_FAILURES = 8
MAX_GROUP_CHARACTERS = 200
MAX_CONSUMERS = 500
MAX_LEASES = 10_000
PRESENT = timedelta(seconds=60)
FORGOTTEN = timedelta(days=1)
RATES = (
    *("published_per_second", "delivered_per_second", "acked_per_second", "nacked_per_second"),
    *("dead_lettered_per_second", "removed_per_second"),
)


@require_safe
@requires("see_metadata", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>: how it stands and why; then how it got there, or what its dead letters died of."""
    head = queue_head.find(name)
    firing = alert_lines.lines(alert_list.firing(name, head.numbers.dead_letter_queue))
    context = {"title": name, "head": head, "tab": "now", "alerts": firing}
    if head.numbers.is_dead_letter_queue:
        context |= {"failure_groups": lists.read_of_holder(request, name)}
        return render_page(request, "queues/show.html", "queues/_dead_letter_queue.html", context)
    context |= {"explained": diagnoses.explain(head.numbers)}
    failures = Failure.objects.filter(queue_id=head.numbers.queue_id).order_by("-failed_at")[:LATEST_FAILURES]
    context |= _history(request, head) | {"failures": masked.failures(name, failures)}
    return render_page(request, "queues/show.html", "queues/_status.html", context)


def _history(request: HttpRequest, head: QueueHead) -> dict[str, object]:
    """Three charts over the span that the address asks for."""
    span = request.GET.get("span", "")
    span = span if span in SPANS else "10m"
    _, points, step = SPANS[span]
    history = sparklines([head.numbers.queue_id], points)[head.numbers.queue_id]
    history = [_merged(history[start : start + step]) for start in range(0, len(history), step)]
    return {
        "charts": _charts(history, head.queue.alert_oldest_age_seconds),
        "span": span,
        "spans": [(value, label) for value, (label, _, _) in SPANS.items()],
    }


def _charts(history: Sequence[HistoryPoint], alert_age_seconds: float) -> list[Chart]:
    def values(name: str) -> list[float]:
        return [getattr(point, name) or 0.0 for point in history]

    times, ages = [point.at for point in history], values("oldest_ready_age_seconds")
    rates = lines(
        values,
        ("sent", "ready", "published_per_second"),
        ("acked", "scheduled", "acked_per_second"),
        ("failed", "dead", "nacked_per_second"),
    )
    return [
        charts.draw("Messages", times, depths(values), subtitle="waiting and in flight"),
        charts.draw("Messages per second", times, rates, subtitle="sent, acked and failed", say=wording.rate),
        charts.draw(
            "Age of the oldest",
            times,
            [Series("oldest ready", "ready", ages, filled=True)],
            subtitle=f"ready messages; {wording.span(alert_age_seconds)} allowed",
            say=wording.span,
            threshold=threshold_near(ages, alert_age_seconds),
        ),
    ]


def _merged(group: Sequence[HistoryPoint]) -> HistoryPoint:
    """Several points as one: the last one's depths, the mean of the rates, so that areas stay true."""
    means = {name: sum(getattr(point, name) for point in group) / len(group) for name in RATES}
    oldest = max(point.oldest_ready_age_seconds or 0.0 for point in group)
    return replace(group[-1], oldest_ready_age_seconds=oldest, **means)


@require_POST
@requires("pause", of=QUEUE)
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/pause: stop handing out messages; what is in flight stays with its consumers."""
    queue_head.find(name)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed: give a reason of at most 500 characters.")
    elif queues.pause_queue(name, actor=request.user.get_username(), reason=form.cleaned_data["reason"]):
        messages.success(request, f"Paused {name}. It still accepts messages.")
    else:
        messages.warning(request, f"{name} was paused already.")
    return _back_to(name)


@require_POST
@requires("pause", of=QUEUE)
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/resume: hand out messages again."""
    queue_head.find(name)
    if queues.resume_queue(name, actor=request.user.get_username()):
        messages.success(request, f"Resumed {name}.")
    else:
        messages.warning(request, f"{name} was not paused.")
    return _back_to(name)


def _back_to(name: str) -> HttpResponse:
    standings.forget()
    return redirect("queue", name)


@require_safe
@requires("see_metadata", of=QUEUE)
def groups(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/lanes: its message groups, or the one that is asked for."""
    head = queue_head.find(name)
    group, after = request.GET.get("group", "")[:MAX_GROUP_CHARACTERS], request.GET.get("after")
    after = after[:MAX_GROUP_CHARACTERS] if after is not None else None
    found = read_lanes(head.numbers.queue_id, after, PAGE_ROWS + 1, group or None)
    lanes = found[:PAGE_ROWS]
    more = len(found) > PAGE_ROWS  # groups are read forward only
    following = f"{request.path}?{urlencode({'after': lanes[-1].group_id})}" if more else ""
    context = {
        "title": f"Groups · {name}",
        "head": head,
        "tab": "lanes",
        "lanes": lanes,
        "group": group,
        "limit": head.queue.group_limit,
        "later": after is not None,
        "pager": Pager(plural(len(lanes), "lane") + " shown", "", following),
    }
    return render_page(request, "queues/groups.html", "queues/_groups.html", context)


@require_POST
@requires("configure", of=QUEUE)
def limit_group(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/lanes/limit: a limit of its own for one group; an empty one is taken back."""
    queue_head.find(name)
    form = LaneLimitForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Nothing was changed: {first_mistake(form)}")
        return redirect("queue_lanes", name)
    group, most = form.cleaned_data["group_id"], form.cleaned_data["max_in_flight"]
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    try:
        queues.limit_lane(name, group, most, actor=actor, reason=reason)
    except SignalboxError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        done = f"a limit of {plural(most, 'message')} in flight" if most else "the queue's limit"
        messages.success(request, f"The group {group} has {done}.")
    return redirect("queue_lanes", name)


def consumers_seen(request: HttpRequest) -> Badge:
    """Count the consumers that were seen in the last minute."""
    count = standings.of_request(request).consumers
    return Badge(count, f"{plural(count, 'consumer')} seen in the last minute")


@require_safe
@requires("see_metadata", in_part=True)
def browse_consumers(request: HttpRequest) -> HttpResponse:
    """GET /consumers: everybody seen within a day, the latest first."""
    context = _consumers(
        "Consumers", reach(request.user, "see_metadata").among("queue__name", "queue__tenant__name"), {}
    )
    return render_page(request, "queues/consumers/browse.html", "queues/consumers/_list.html", context)


@require_safe
@requires("see_metadata", of=QUEUE)
def consumers(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/consumers: who receives from one queue, and how much each has in hand."""
    head = queue_head.find(name)
    # Messages in each consumer's hands, counted over at most MAX_LEASES.
    holders = Lease.objects.filter(queue_id=head.numbers.queue_id).values_list("consumer", flat=True)[:MAX_LEASES]
    context = _consumers(f"Consumers · {name}", Q(queue_id=head.numbers.queue_id), Counter(holders))
    context |= {"head": head, "tab": "consumers"}
    return render_page(request, "queues/consumers.html", "queues/_consumers.html", context)


def _consumers(title: str, among: Q, held: Mapping[str | None, int]) -> dict[str, object]:
    """Tell of each consumer seen lately whether it is present, and what it holds."""
    now = datetime.now(UTC)
    seen = Consumer.objects.select_related("queue").filter(among, last_seen_at__gte=now - FORGOTTEN)
    # Sorted so that rows stay where one reads them.
    latest = sorted(seen.order_by("-last_seen_at")[:MAX_CONSUMERS], key=lambda one: (one.queue.name, one.consumer))
    consumers = [
        {"consumer": one, "present": now - one.last_seen_at < PRESENT, "held": held.get(one.consumer, 0)}
        for one in latest
    ]
    return {"title": title, "consumers": consumers, "full": len(latest) == MAX_CONSUMERS}
