"""Redrives under way and done: watching one, changing its pace, pausing, resuming and cancelling it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import jobs, keyset
from console.forms import RateForm
from console.htmx import render_page
from console.roles import requires
from console.wording import plural
from dlq import redrives
from dlq.filters import parse
from dlq.models import Deletion, Purge, Redrive
from dlq.outcomes import outcomes
from queues.models import Redriven

LATEST_MOVED = 10
LATEST_REMOVALS = 10


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives: all of them, newest first, and the latest deletions and purges."""
    page = keyset.by_id(Redrive.objects.all(), "redrive_id", request)
    removals = [
        *Deletion.objects.order_by("-deletion_id")[:LATEST_REMOVALS],
        *Purge.objects.order_by("-purge_id")[:LATEST_REMOVALS],
    ]
    context = {
        "title": "Redrives",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'redrive')} shown"),
        "removals": sorted(removals, key=lambda job: job.created_at, reverse=True)[:LATEST_REMOVALS],
    }
    return render_page(request, "redrives/browse.html", "redrives/_list.html", context)


@require_safe
@requires("see_metadata")
def show(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """GET /redrives/<id>: how far it is, and what it moved last."""
    job = _find(redrive_id)
    moved = Redriven.objects.select_related("queue").filter(redrive_id=redrive_id)
    context = {
        "title": f"Redrive {redrive_id}",
        "job": job,
        "progress": jobs.progress_of(job, job.rate_per_second),
        "outcomes": outcomes(redrive_id),
        "again": _again(job),
        "moved": moved.order_by("-redriven_id")[:LATEST_MOVED],
        "form": RateForm(initial={"rate_per_second": job.rate_per_second}),
    }
    return render_page(request, "redrives/show.html", "redrives/_job.html", context)


def _again(job: Redrive) -> str:
    """The filter of those that died again: what the redrive selected, redriven before."""
    return str(parse(job.filter_text).without("redrives").without("age").with_term("redrives", ">0"))


def _find(redrive_id: int) -> Redrive:
    job = Redrive.objects.filter(redrive_id=redrive_id).first()
    if job is None:
        raise Http404(f"There is no redrive {redrive_id}.")
    return job


@require_POST
@requires("redrive")
def pause(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/pause: it stops after the batch under way."""
    return _change(request, redrive_id, redrives.pause, "paused", "was not running")


@require_POST
@requires("redrive")
def resume(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/resume: it goes on where it stopped."""
    return _change(request, redrive_id, redrives.resume, "resumed", "was not paused")


@require_POST
@requires("redrive")
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
@requires("redrive")
def set_rate(request: HttpRequest, redrive_id: int) -> HttpResponse:
    """POST /redrives/<id>/rate: another pace from the next batch on."""
    _find(redrive_id)
    form = RateForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Nothing was changed: {' '.join(form.errors['rate_per_second'])}")
        return redirect("redrive", redrive_id)
    rate = form.cleaned_data["rate_per_second"]
    if redrives.set_rate(redrive_id, rate, actor=request.user.get_username()):
        pace = f"at most {plural(rate, 'message')} per second" if rate else "as fast as it can"
        messages.success(request, f"Redrive {redrive_id} now goes {pace}.")
    else:
        messages.warning(request, f"Nothing was changed: redrive {redrive_id} was over already.")
    return redirect("redrive", redrive_id)
