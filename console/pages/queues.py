"""One queue: how it stands, how it got there, what failed last; and making, pausing and resuming it."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import alert_lines, charts, cluster_lists, diagnoses, fleet, masked, queue_head, wording
from console.charts import Chart, Series
from console.forms import ReasonForm
from console.htmx import render_page
from console.queue_head import QueueHead
from console.roles import requires
from console.subjects import QUEUE
from queues import control
from queues.history import HistoryPoint, sparklines
from queues.models import Failure

# What the charts may show -> (label, points of history, points per drawn point).
SPANS = {"10m": ("10 m", 60, 1), "1h": ("1 h", 360, 4)}
LATEST_FAILURES = 8


@require_safe
@requires("see_metadata", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>: how it stands and why; then how it got there, or what its dead letters died of."""
    head = queue_head.find(name)
    firing = alert_lines.of_queues(name, head.dead_letter_queue)
    context = {"title": name, "head": head, "tab": "now", "alerts": firing}
    if head.numbers.is_dead_letter_queue:
        context |= {"clusters": cluster_lists.read_of_holder(request, name)}
        return render_page(request, "queues/show.html", "queues/_dead_letter_queue.html", context)
    context |= {"explained": diagnoses.explain(head.numbers)}
    context |= _history(request, head) | {"failures": masked.failures(head.name, _latest_failures(head))}
    return render_page(request, "queues/show.html", "queues/_now.html", context)


def _history(request: HttpRequest, head: QueueHead) -> dict[str, object]:
    """Three charts over the span that the address asks for."""
    span = request.GET.get("span", "")
    span = span if span in SPANS else "10m"
    _, points, step = SPANS[span]
    history = _thinned(sparklines([head.numbers.queue_id], points)[head.numbers.queue_id], step)
    return {
        "charts": _charts(history, head.queue.alert_oldest_age_seconds),
        "span": span,
        "spans": [(value, label) for value, (label, _, _) in SPANS.items()],
    }


def _latest_failures(head: QueueHead) -> QuerySet[Failure]:
    return Failure.objects.filter(queue_id=head.numbers.queue_id).order_by("-failed_at")[:LATEST_FAILURES]


def _charts(history: Sequence[HistoryPoint], alert_age_seconds: float) -> list[Chart]:
    times = [point.at for point in history]
    ages = [point.oldest_ready_age_seconds or 0.0 for point in history]
    near = max(ages, default=0.0) > alert_age_seconds / 4  # far below, the threshold would flatten the line
    return [
        charts.draw(
            "Messages",
            times,
            [
                Series("ready", "ready", [point.ready for point in history], filled=True),
                Series("in flight", "leased", [point.leased for point in history]),
                Series("scheduled", "scheduled", [point.scheduled for point in history]),
                *_in_lanes(history),
            ],
            subtitle="waiting and in flight",
        ),
        charts.draw(
            "Messages per second",
            times,
            [
                Series("sent", "ready", [point.published_per_second for point in history]),
                Series("acked", "scheduled", [point.acked_per_second for point in history]),
                Series("failed", "dead", [point.nacked_per_second for point in history]),
            ],
            subtitle="sent, acked and failed",
            say=wording.rate,
        ),
        charts.draw(
            "Age of the oldest",
            times,
            [Series("oldest ready", "ready", ages, filled=True)],
            subtitle=f"ready and not yet received; {wording.span(alert_age_seconds)} allowed",
            say=wording.span,
            threshold=alert_age_seconds if near else None,
        ),
    ]


def _in_lanes(history: Sequence[HistoryPoint]) -> list[Series]:
    """What waited in lanes, where anything did."""
    waiting = [point.waiting for point in history]
    return [Series("waiting in lanes", "waiting", waiting)] if any(waiting) else []


def _thinned(history: Sequence[HistoryPoint], step: int) -> list[HistoryPoint]:
    """Every `step` points as one: the last one's depths, the mean of the rates, so that areas stay true."""
    groups = [history[start : start + step] for start in range(0, len(history), step)]
    return [_merged(group) for group in groups] if step > 1 else list(history)


def _merged(group: Sequence[HistoryPoint]) -> HistoryPoint:
    last = group[-1]

    def mean(field: str) -> float:
        return sum(getattr(point, field) for point in group) / len(group)

    return HistoryPoint(
        last.at,
        last.ready,
        last.scheduled,
        last.waiting,
        last.leased,
        last.dead,
        max((point.oldest_ready_age_seconds or 0.0 for point in group), default=None),
        *(mean(f"{event}_per_second") for event in ("published", "delivered", "acked", "nacked")),
        mean("dead_lettered_per_second"),
        mean("removed_per_second"),
    )


@require_POST
@requires("configure", of=QUEUE)
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/pause: stop handing out messages; what is in flight stays with its consumers."""
    queue_head.find(name)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed: say why the queue is paused, in at most 500 characters.")
    elif control.pause_queue(name, actor=request.user.get_username(), reason=form.cleaned_data["reason"]):
        messages.success(request, f"Paused {name}. It still accepts messages.")
    else:
        messages.warning(request, f"{name} was paused already.")
    return _back_to(name)


@require_POST
@requires("configure", of=QUEUE)
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/resume: hand out messages again."""
    queue_head.find(name)
    if control.resume_queue(name, actor=request.user.get_username()):
        messages.success(request, f"Resumed {name}.")
    else:
        messages.warning(request, f"{name} was not paused.")
    return _back_to(name)


def _back_to(name: str) -> HttpResponse:
    fleet.forget()
    return redirect("queue", name)
