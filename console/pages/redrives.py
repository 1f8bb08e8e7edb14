"""Redrives under way and done: watching one, changing its pace, pausing, resuming and cancelling it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import jobs, keyset, masked
from console.forms import RateForm
from console.htmx import render_page
from console.roles import requires
from console.subjects import REDRIVE
from console.wording import plural
from dlq import moving, outcomes, redrives
from dlq.filters import parse
from dlq.models import Deletion, Plan, Purge, Redrive
from queues.models import Redriven

LATEST_MOVED = 10
LATEST_REMOVALS = 10
LATEST_PLANS = 5
# Word of the address: (letter of the engine, words, tone of the bar).
OUTCOMES = {
    "succeeded": ("a", "succeeded", "ok"),
    "open": (None, "still waiting or in flight", ""),
    "same": ("s", "failed again, same cause", "bad"),
    "new": ("n", "failed again, new cause", "bad"),
    "gone": ("g", "purged or expired", "quiet"),
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives: all of them, newest first, and the latest deletions and purges."""
    page = jobs.seen(request, keyset.by_id(Redrive.objects.all(), "redrive_id", request))
    removals = [
        *jobs.seen_of(request, Deletion.objects.order_by("-deletion_id")[:LATEST_REMOVALS]),
        *jobs.seen_of(request, Purge.objects.order_by("-purge_id")[:LATEST_REMOVALS]),
    ]
    context = {
        "title": "Redrives",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'redrive')} shown"),
        "plans": jobs.seen_of(request, Plan.objects.prefetch_related("redrives").order_by("-plan_id")[:LATEST_PLANS]),
        "removals": sorted(removals, key=lambda job: job.created_at, reverse=True)[:LATEST_REMOVALS],
    }
    return render_page(request, "redrives/browse.html", "redrives/_list.html", context)


@require_safe
@requires("see_metadata", of=REDRIVE)
def show(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """GET /redrives/<id>: how far it is, and what it moved last."""
    _find(redrive_id)
    outcomes.refresh(redrive_id, windows=1)
    job = _find(redrive_id)
    context = {
        "title": f"Redrive {redrive_id}",
        "job": job,
        "progress": jobs.progress_of(job, job.rate_per_second),
        "outcomes": _outcomes(job),
        "again": _again(job),
        "moved": _latest(job),
        "options": job.choices,
        "patch_text": masked.patch_text(job.choices),
        "skipped": [(moving.REASONS.get(reason, reason), number) for reason, number in job.skipped_why.items()],
        "form": RateForm(initial={"rate_per_second": job.rate_per_second}),
    }
    return render_page(request, "redrives/show.html", "redrives/_job.html", context)


def _outcomes(job: Redrive) -> list[tuple[str, str, int, str]]:
    """(word of the address, words, how many, tone) for each outcome that there is or may be."""
    numbers = {
        "succeeded": job.succeeded,
        "open": job.open_outcomes,
        "same": job.failed_same,
        "new": job.failed_new,
        "gone": job.gone,
    }
    shown = {slug: number for slug, number in numbers.items() if number or slug != "gone"}
    return [(slug, OUTCOMES[slug][1], number, OUTCOMES[slug][2]) for slug, number in shown.items()]


def _latest(job: Redrive) -> list[Redriven]:
    """What was sent last: the newest of each outcome, from an index that has them in that order."""
    found: list[Redriven] = []
    for letter, _, _ in OUTCOMES.values():
        found += _sent(job.pk, letter).order_by("-redriven_id")[:LATEST_MOVED]
    return sorted(found, key=lambda one: one.redriven_id, reverse=True)[:LATEST_MOVED]


def _sent(redrive_id: int, letter: str | None) -> QuerySet[Redriven]:
    sent = Redriven.objects.select_related("queue").filter(redrive_id=redrive_id)
    return sent.filter(outcome__isnull=True) if letter is None else sent.filter(outcome=letter)


@require_safe
@requires("see_metadata", of=REDRIVE)
def messages_of(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """GET /redrives/<id>/messages?outcome=: the messages of one outcome, newest first."""
    job, slug = _find(redrive_id), request.GET.get("outcome", "open")
    if slug not in OUTCOMES:
        raise Http404(f"There is no outcome {slug[:40]!r}: it may be {', '.join(OUTCOMES)}.")
    letter, words, _ = OUTCOMES[slug]
    page = keyset.by_id(_sent(redrive_id, letter), "redriven_id", request)
    context = {
        "title": f"Redrive {redrive_id}: {words}",
        "job": job,
        "words": words,
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'message')} shown"),
    }
    return render_page(request, "redrives/messages.html", "redrives/_messages.html", context)


def _again(job: Redrive) -> str:
    """The filter of those that died again: what the redrive selected, or where it sent to, redriven before."""
    if job.staging_id is not None:
        return str(parse("").with_term("queue", job.target_queue).with_term("redrives", ">0"))
    return str(parse(job.filter_text).without("redrives").without("age").with_term("redrives", ">0"))


def _find(redrive_id: int) -> Redrive:
    job = Redrive.objects.filter(redrive_id=redrive_id).first()
    if job is None:
        raise Http404(f"There is no redrive {redrive_id}.")
    return job


@require_POST
@requires("redrive", of=REDRIVE)
def pause(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/pause: it stops after the batch under way."""
    return _change(request, redrive_id, redrives.pause, "paused", "was not running")


@require_POST
@requires("redrive", of=REDRIVE)
def resume(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/resume: it goes on where it stopped."""
    return _change(request, redrive_id, redrives.resume, "resumed", "was not paused")


@require_POST
@requires("redrive", of=REDRIVE)
def cancel(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/cancel: it stops for good; the rest stays dead."""
    return _change(request, redrive_id, redrives.cancel, "cancelled", "was over already")


def _change(request: HttpRequest, redrive_id: int, verb: Callable[..., bool], done: str, refused: str) -> HttpResponse:
    _find(redrive_id)
    if verb(redrive_id, actor=request.user.get_username()):
        messages.success(request, f"Redrive {redrive_id} is {done}.")
    else:
        messages.warning(request, f"Nothing was changed: redrive {redrive_id} {refused}.")
    return redirect("redrive", redrive_id)


@require_POST
@requires("redrive", of=REDRIVE)
def set_rate(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/rate: another pace from the next batch on."""
    job = _find(redrive_id)
    form = RateForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Nothing was changed: {' '.join(form.errors['rate_per_second'])}")
        return redirect("redrive", redrive_id)
    rate = form.cleaned_data["rate_per_second"]
    if redrives.set_rate(redrive_id, rate, actor=request.user.get_username()):
        pace = f"at most {plural(rate, 'message')} per second" if rate else "as fast as it can"
        messages.success(request, f"Redrive {redrive_id} now goes {pace}.")
    else:
        why = "waits for approval, as it was asked for" if job.is_awaiting else "was over already"
        messages.warning(request, f"Nothing was changed: redrive {redrive_id} {why}.")
    return redirect("redrive", redrive_id)
