"""Pages of redrives: list them, watch one, change its rate, pause, resume and cancel it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.access.roles import requires
from console.access.subjects import REDRIVE
from console.fleet.presence import has_tab
from console.masking import masked
from console.redrives import jobs, progress
from console.redrives.forms import RateForm
from console.redrives.progress import OUTCOMES
from console.web import pagination
from console.web.forms import refused
from console.web.forms.fields import tell
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.filters import parse
from dlq.jobs.models import Deletion, Purge, Redrive
from dlq.redrives import moving, outcomes, redrives
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.models import Queue, Redriven

LATEST_MOVED = 10
LATEST_REMOVALS = 10
LATEST_PLANS = 5
LATEST_OVER_CELLS = 10
MAX_DESTINATIONS = 5
# Word of the address: tone of the chip.
CHIPS = {"succeeded": "ok", "open": "accent", "same": "bad", "new": "bad", "gone": ""}
# Word of the address: (verb, words when it is done, words when it is refused).
CHANGES = {
    "pause": (redrives.pause, "paused", "was not running"),
    "resume": (redrives.resume, "resumed", "was not paused"),
    "cancel": (redrives.cancel, "cancelled", "has already ended"),
}


COLUMNS: Columns[Redrive] = {
    "redrive": lambda job: job.redrive_id,
    "state": lambda job: job.state,
    "filter": lambda job: job.filter_text,
    "from": lambda job: ", ".join(job.source_queues),
    "to": lambda job: job.target_queue,
    "sent": lambda job: job.moved,
    "succeeded": lambda job: job.succeeded,
    "rate": lambda job: job.rate_per_second,
    "by": lambda job: job.created_by,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives: all redrives, newest first, and the latest plans, deletions and purges."""
    listed = arrange_newest(request, Redrive.objects.all(), "redrive_id", COLUMNS, time="started")
    page = jobs.seen(request, listed.page)
    removals = [
        *jobs.seen_of(request, Deletion.objects.order_by("-deletion_id")[:LATEST_REMOVALS]),
        *jobs.seen_of(request, Purge.objects.order_by("-purge_id")[:LATEST_REMOVALS]),
    ]
    context = {
        "title": "Jobs",
        "page": page,
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'redrive')} shown{listed.limits}"),
        "plans": jobs.seen_of(request, Plan.objects.prefetch_related("redrives").order_by("-plan_id")[:LATEST_PLANS]),
        "over_cells": _latest_over_cells() if has_tab(request) else [],
        "removals": sorted(removals, key=lambda job: job.created_at, reverse=True)[:LATEST_REMOVALS],
    }
    return render_page(request, "redrives/browse.html", "redrives/_list.html", context)


def _latest_over_cells() -> QuerySet[FleetRedrive]:
    return FleetRedrive.objects.order_by("-fleet_redrive_id")[:LATEST_OVER_CELLS]


@require_safe
@requires("see_metadata", of=REDRIVE)
def show(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """GET /redrives/<id>: phases, outcomes, stop rules, and the latest messages."""
    jobs.find(Redrive, redrive_id)
    outcomes.refresh(redrive_id, windows=1)
    job = jobs.find(Redrive, redrive_id)
    return jobs.show(
        request,
        job,
        "redrives",
        redrive=progress.read(job, datetime.now(UTC)),
        again=_again(job),
        moved=_latest(job),
        destinations=_destinations(job),
        rates=_other_rates(job.rate_per_second),
        options=job.choices,
        patch_text=masked.patch_text(job.choices),
        skipped=[(moving.REASONS.get(reason, reason), number) for reason, number in job.skipped_why.items()],
        form=RateForm(initial={"rate_per_second": job.rate_per_second}),
    )


def _destinations(job: Redrive) -> list[QueueNumbers]:
    """Read the numbers of the queues that the redrive sends to, the first few."""
    names = [job.target_queue] if job.target_queue else job.source_queues[:MAX_DESTINATIONS]
    queue_ids = list(Queue.objects.filter(name__in=names).values_list("queue_id", flat=True))
    return read_numbers(queue_ids) if queue_ids else []


def _other_rates(rate: int | None) -> tuple[int, int] | None:
    """Return half and twice the rate limit, for the buttons; None without a limit."""
    return (max(1, rate // 2), min(MAX_RATE_PER_SECOND, rate * 2)) if rate else None


@dataclass(frozen=True)
class Sent:
    """A message that the redrive sent, with its outcome in words."""

    message: Redriven
    words: str
    tone: str

    @property
    def seconds(self) -> float | None:
        """The time from the send to the outcome."""
        one = self.message
        return (one.settled_at - one.redriven_at).total_seconds() if one.settled_at else None


def _latest(job: Redrive) -> list[Sent]:
    """List what was sent last: the newest of each outcome, from an index that has them in that order."""
    each = [
        [Sent(one, words, CHIPS[slug]) for one in _sent(job.pk, letter).order_by("-redriven_id")[:LATEST_MOVED]]
        for slug, (letter, _, words, _) in OUTCOMES.items()
    ]
    return sorted(chain(*each), key=lambda one: one.message.redriven_id, reverse=True)[:LATEST_MOVED]


def _sent(redrive_id: int, letter: str | None) -> QuerySet[Redriven]:
    return Redriven.objects.select_related("queue").filter(redrive_id=redrive_id, outcome=letter)


SENT_COLUMNS: Columns[Redriven] = {
    "message": lambda one: one.message_id,
    "to": lambda one: one.queue.name,
    "known": lambda one: one.settled_at,
}


@require_safe
@requires("see_metadata", of=REDRIVE)
def messages_of(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """GET /redrives/<id>/messages?outcome=: the messages of one outcome, newest first."""
    job, slug = jobs.find(Redrive, redrive_id), request.GET.get("outcome", "open")
    if slug not in OUTCOMES:
        raise Http404(f"There is no outcome {slug[:40]!r}: it may be {', '.join(OUTCOMES)}.")
    letter, _, words, _ = OUTCOMES[slug]
    listed = arrange_newest(request, _sent(redrive_id, letter), "redriven_id", SENT_COLUMNS, time="sent")
    page = listed.page
    context = {
        "title": f"Redrive #{redrive_id}: {words}",
        "job": job,
        "words": words,
        "page": page,
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'message')} shown{listed.limits}"),
    }
    return render_page(request, "redrives/messages.html", "redrives/_messages.html", context)


def _again(job: Redrive) -> str:
    """Return the filter of messages that failed again, by the selection of the redrive or by its destination."""
    if job.staging_id is not None:
        return str(parse("").with_term("queue", job.target_queue).with_term("redrives", ">0"))
    return str(parse(job.filter_text).without("redrives").without("age").with_term("redrives", ">0"))


@require_POST
@requires("redrive", of=REDRIVE)
def change(request: HttpRequest, redrive_id: int, verb: str) -> HttpResponse:
    """POST /redrives/<id>/pause, resume, cancel: stop after the current batch, or continue."""
    act, done, refused = CHANGES[verb]
    jobs.find(Redrive, redrive_id)
    changed = act(redrive_id, actor=request.user.get_username())
    tell(request, changed, f"Redrive #{redrive_id} is {done}.", f"redrive #{redrive_id} {refused}")
    return redirect("redrive", redrive_id)


@require_POST
@requires("redrive", of=REDRIVE)
def set_rate(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/rate: change the rate from the next batch on."""
    job = jobs.find(Redrive, redrive_id)
    form = RateForm(request.POST)
    if not form.is_valid():
        title, page = f"Rate of redrive #{redrive_id}", reverse("redrive", args=[redrive_id])
        return refused.show(request, form, title=title, verb="Set rate", page=page)
    rate = form.cleaned_data["rate_per_second"]
    changed = redrives.set_rate(redrive_id, rate, actor=request.user.get_username())
    limit = f"{plural(rate, 'message')} per second" if rate else "unlimited"
    why = "awaits approval with its present rate" if job.is_awaiting else "has already ended"
    tell(request, changed, f"Rate of redrive #{redrive_id}: {limit}.", f"redrive #{redrive_id} {why}")
    return redirect("redrive", redrive_id)
