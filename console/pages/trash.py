"""The trash: what purges and deletions removed, how long it can be put back, and the undo that does."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import jobs, roles
from console.forms import ReasonForm
from console.frame import Frame
from console.htmx import render_page
from console.roles import requires
from console.subjects import UNDO
from dlq import trash, undo
from dlq.models import Undo
from dlq.reaching import JobThing
from queues.errors import InvalidArgument

LATEST = 10


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /trash: what is in it, by job, the next to go first; and the latest undos."""
    context = {
        "title": "Trash",
        "heaps": [heap for heap in trash.heaps() if jobs.is_seen(request, heap.job)],
        "hours": trash.hours(),
        "undos": jobs.seen_of(request, Undo.objects.order_by("-undo_id")[:LATEST]),
    }
    return render_page(request, "trash/browse.html", "trash/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET /undos/new?noun=&id=: what would come back. POST: the undo."""
    given = request.POST if request.method == "POST" else request.GET
    noun, number = given.get("noun", ""), given.get("id", "")
    if noun not in trash.REMOVERS or not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Http404("Say which purge or deletion to undo.")
    removed = trash.REMOVERS[noun]._default_manager.filter(pk=int(number)).first()
    roles.enter(request, "purge", JobThing(removed) if removed else None, f"There is no {noun} {number}.")
    form = ReasonForm(request.POST) if request.method == "POST" else None
    try:
        if form is not None and form.is_valid():
            actor = request.user.get_username()
            job = undo.create(noun, int(number), actor=actor, reason=form.cleaned_data["reason"])
            waits = " It waits for a second person." if job.is_awaiting else " It is on its way."
            messages.success(request, f"Undo {job.undo_id} was made.{waits}")
            return redirect("undo", job.undo_id)
        preview = undo.preview(noun, int(number))
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("trash")
    context = {
        "title": "Review of an undo",
        "frame": Frame(request),
        "preview": preview,
        "noun": noun,
        "form": form or ReasonForm(),
    }
    return render(request, "trash/review.html", context, status=422 if form and form.errors else 200)


@require_safe
@requires("see_metadata", of=UNDO)
def show(request: HttpRequest, undo_id: int) -> HttpResponse:
    """GET /undos/<id>: how far it is."""
    job = _find(undo_id)
    context = {"title": f"Undo {undo_id}", "job": job, "progress": jobs.progress_of(job)}
    return render_page(request, "trash/show.html", "trash/_job.html", context)


@require_POST
@requires("purge", of=UNDO)
def cancel(request: HttpRequest, undo_id: int) -> HttpResponse:
    """POST /undos/<id>/cancel: it stops after the batch under way."""
    _find(undo_id)
    if undo.cancel(undo_id, actor=request.user.get_username()):
        messages.success(request, f"Undo {undo_id} is cancelled. What came back stays; the rest is in the trash.")
    else:
        messages.warning(request, f"Nothing was changed: undo {undo_id} was over already.")
    return redirect("undo", undo_id)


def _find(undo_id: int) -> Undo:
    job = Undo.objects.filter(undo_id=undo_id).first()
    if job is None:
        raise Http404(f"There is no undo {undo_id}.")
    return job
