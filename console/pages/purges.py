"""Emptying a queue: the preview, the typed name, the start, and watching it."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import jobs, queue_head
from console.forms import PurgeForm
from console.frame import Frame
from console.htmx import render_page
from console.queue_head import QueueHead
from console.roles import requires
from console.subjects import PURGE, QUEUE
from dlq import purge, trash
from dlq.models import Purge
from dlq.purge import Bounds
from dlq.thresholds import threshold
from queues.errors import SignalboxError

WORDS = {
    "ready": "Ready",
    "scheduled": "Scheduled",
    "waiting": "Waiting in their lanes",
    "leased": "In flight: their consumers' acks will be refused",
    "dead": "Dead",
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", of=QUEUE)
def new(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/purge: what a purge would remove, as of now. POST: the purge of just that."""
    head = queue_head.find(name)
    states = list(purge.states_of(head.queue))
    form = PurgeForm(request.POST if request.method == "POST" else None, states=states)
    if request.method == "POST" and form.is_valid():
        try:
            job = _start(request, head, form)
        except SignalboxError as error:
            field = getattr(error, "field", None)
            form.add_error(field if field in form.fields else None, str(error))
        else:
            waits = "waits for a second person" if job.is_awaiting else "is on its way"
            messages.success(request, f"Purge {job.purge_id} {waits}.")
            return redirect("purge", job.purge_id)
    chosen = form["states"].value() or ["dead" if "dead" in states else "ready"]
    preview = purge.preview(name, states)
    context = {
        "title": f"Purge · {name}",
        "frame": Frame(request),
        "head": head,
        "form": form,
        "bounds": preview.bounds,
        "hours": trash.hours(),
        "confirm_above": settings.CONFIRM_ABOVE_MESSAGES,
        "approve_above": threshold("purge"),
        "choices": [(state, WORDS[state], preview.counts[state], state in chosen) for state in states],
    }
    return render(request, "purges/new.html", context, status=422 if form.errors else 200)


def _start(request: HttpRequest, head: QueueHead, form: PurgeForm) -> Purge:
    given = form.cleaned_data
    bounds = Bounds(given["through_message_id"], given["through_dead_letter_id"])
    actor, reason = request.user.get_username(), given["reason"]
    return purge.create(head.name, given["states"], bounds, given["typed_name"], actor=actor, reason=reason)


@require_safe
@requires("see_metadata", of=PURGE)
def show(request: HttpRequest, purge_id: int) -> HttpResponse:
    """GET /purges/<id>: how far it is."""
    job = _find(purge_id)
    context = {"title": f"Purge {purge_id}", "job": job, "progress": jobs.progress_of(job), "heap": trash.heap_of(job)}
    return render_page(request, "purges/show.html", "purges/_job.html", context)


@require_POST
@requires("purge", of=PURGE)
def cancel(request: HttpRequest, purge_id: int) -> HttpResponse:
    """POST /purges/<id>/cancel: it stops after the batch under way; what is gone is in the trash."""
    _find(purge_id)
    if purge.cancel(purge_id, actor=request.user.get_username()):
        messages.success(request, f"Purge {purge_id} is cancelled. What it removed stays removed.")
    else:
        messages.warning(request, f"Nothing was changed: purge {purge_id} was over already.")
    return redirect("purge", purge_id)


def _find(purge_id: int) -> Purge:
    job = Purge.objects.filter(purge_id=purge_id).first()
    if job is None:
        raise Http404(f"There is no purge {purge_id}.")
    return job
