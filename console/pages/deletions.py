"""Deleting dead letters: the review, the start, and watching it."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import causes, jobs, masked, roles
from console.forms import DeletionForm
from console.frame import Frame
from console.held_filters import held_filter
from console.htmx import render_page
from console.pages.selections import chosen_text
from console.roles import requires
from console.subjects import DELETION
from dlq import deletions, plans, trash
from dlq.filters import FilterError, parse
from dlq.models import Deletion
from dlq.thresholds import threshold
from queues.errors import SignalboxError


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET /deletions/new?q= or ?id=: the review, frozen now. POST: the deletion of what the review showed."""
    form = DeletionForm(request.POST) if request.method == "POST" else None
    if form is not None and form.is_valid():
        options = {name: value for name, value in form.cleaned_data.items() if name != "confirmation"}
        confirmed = form.cleaned_data["confirmation"] == form.WORD
        try:
            options["filter_text"] = _held(request, form.cleaned_data["filter_text"])
            job = deletions.create(actor=request.user.get_username(), confirmed=confirmed, **options)
        except (SignalboxError, FilterError) as error:
            field = getattr(error, "field", None)
            form.add_error("confirmation" if field == "confirmation" else None, str(error))
        else:
            waits = "waits for a second person" if job.is_awaiting else "is on its way"
            messages.success(request, f"Deletion {job.deletion_id} {waits}.")
            return redirect("deletion", job.deletion_id)
    return _review(request, form)


def _review(request: HttpRequest, form: DeletionForm | None) -> HttpResponse:
    mistake, preview = None, None
    text = (form["filter_text"].value() or "") if form else chosen_text(request)
    try:
        text = _held(request, text)
        see = roles.may_here(request, "see_payloads")
        preview = masked.preview(plans.preview(text, with_payloads=see)) if text else None
    except FilterError as error:
        mistake = error
    context = {
        "title": "Review of a deletion",
        "frame": Frame(request),
        "filter_text": text,
        "mistake": mistake,
        "preview": preview,
        "causes": masked.found_causes(causes.read(parse(text))) if preview else None,
        "form": form or DeletionForm(),
        "hours": trash.hours(),
        "confirm_above": settings.CONFIRM_ABOVE_MESSAGES,
        "approve_above": threshold("deletion"),
    }
    return render(request, "deletions/review.html", context, status=422 if mistake or (form and form.errors) else 200)


def _held(request: HttpRequest, text: str) -> str:
    """An empty filter stays empty, and is refused as everybody's is."""
    return held_filter(request, text, "purge") if text.strip() else text


@require_safe
@requires("see_metadata", of=DELETION)
def show(request: HttpRequest, deletion_id: int) -> HttpResponse:
    """GET /deletions/<id>: how far it is."""
    job = _find(deletion_id)
    context = {
        "title": f"Deletion {deletion_id}",
        "job": job,
        "progress": jobs.progress_of(job),
        "heap": trash.heap_of(job),
    }
    return render_page(request, "deletions/show.html", "deletions/_job.html", context)


@require_POST
@requires("purge", of=DELETION)
def cancel(request: HttpRequest, deletion_id: int) -> HttpResponse:
    """POST /deletions/<id>/cancel: it stops after the batch under way; what is gone is in the trash."""
    _find(deletion_id)
    if deletions.cancel(deletion_id, actor=request.user.get_username()):
        messages.success(request, f"Deletion {deletion_id} is cancelled. What it deleted is in the trash.")
    else:
        messages.warning(request, f"Nothing was changed: deletion {deletion_id} was over already.")
    return redirect("deletion", deletion_id)


def _find(deletion_id: int) -> Deletion:
    job = Deletion.objects.filter(deletion_id=deletion_id).first()
    if job is None:
        raise Http404(f"There is no deletion {deletion_id}.")
    return job
