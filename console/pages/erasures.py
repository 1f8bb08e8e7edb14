"""Erasing one person's data: what is to be found, a look at it, the start, how far it is, and the report."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import jobs
from console.erasure_form import ErasureForm
from console.frame import Frame
from console.htmx import render_page
from console.roles import requires
from dlq.erasing import erasures, report
from dlq.models import Erasure
from queues.errors import SignalboxError

LATEST = 50
SALT = "signalbox.erasure"
VERBS = {"pause": erasures.pause, "resume": erasures.resume, "cancel": erasures.cancel}
DONE = {"pause": "is paused", "resume": "goes on", "cancel": "is cancelled: what is erased stays erased"}


@require_safe
@requires("administer")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /erasures: the latest."""
    context = {"title": "Erasures", "erasures": Erasure.objects.order_by("-erasure_id")[:LATEST]}
    return render_page(request, "erasures/browse.html", "erasures/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def new(request: HttpRequest) -> HttpResponse:
    """GET /erasures/new: the form. POST: a look, an exact count, or the erasure of what was looked at.

    Always by POST, for what is searched for belongs into no address and no log.
    """
    form = ErasureForm(request.POST if request.method == "POST" else None)
    seen = None
    if request.method == "POST" and form.is_valid():
        try:
            step = request.POST.get("step", "preview")
            if step == "preview" or not _was_seen(form):
                seen = erasures.preview(form.wanted())
            else:
                return _start(request, form, only_counts=step == "count")
        except SignalboxError as error:
            field = getattr(error, "field", None)
            form.add_error(field if field in form.fields else None, str(error))
            if field in ("confirmation", "reason"):
                seen = erasures.preview(form.wanted())
    context = {
        "title": "Erase one person's data",
        "frame": Frame(request),
        "form": form,
        "seen": seen,
        "token": _token(form) if seen else "",
        "word": erasures.WORD,
    }
    return render(request, "erasures/new.html", context, status=422 if form.errors else 200)


def _start(request: HttpRequest, form: ErasureForm, *, only_counts: bool) -> HttpResponse:
    job = erasures.create(
        form.wanted(),
        actor=request.user.get_username(),
        reason=form.cleaned_data["reason"],
        confirmation=form.cleaned_data["confirmation"],
        only_counts=only_counts,
    )
    messages.success(request, f"{'Count' if only_counts else 'Erasure'} {job.erasure_id} is on its way.")
    return redirect("erasure", job.erasure_id)


def _was_seen(form: ErasureForm) -> bool:
    """Whether just this was looked at: who changes the value looks again."""
    return constant_time_compare(form.cleaned_data["previewed"], _token(form))


def _token(form: ErasureForm) -> str:
    wanted: Any = {name: str(form.cleaned_data.get(name)) for name in form.fields if name not in NOT_SEEN}
    return signing.Signer(key=settings.SECRET_KEY, salt=SALT).signature(json.dumps(wanted, sort_keys=True))


NOT_SEEN = {"reason", "confirmation", "previewed", "rows_per_second"}


@require_safe
@requires("administer")
def show(request: HttpRequest, erasure_id: int) -> HttpResponse:
    """GET /erasures/<id>: how far it is, and what came of it."""
    job = _find(erasure_id)
    context = {
        "title": f"{'Count' if job.only_counts else 'Erasure'} {erasure_id}",
        "job": job,
        "progress": jobs.progress_of(job),
        "report": report.report(job),
    }
    return render_page(request, "erasures/show.html", "erasures/_job.html", context)


@require_safe
@requires("administer")
def download(request: HttpRequest, erasure_id: int) -> HttpResponse:
    """GET /erasures/<id>/report: the same as a file."""
    text = json.dumps(report.report(_find(erasure_id)), indent=2, ensure_ascii=False)
    answer = HttpResponse(text, content_type="application/json; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="erasure-{erasure_id}.json"'
    return answer


@require_POST
@requires("administer")
def change(request: HttpRequest, erasure_id: int, verb: str) -> HttpResponse:
    """POST /erasures/<id>/pause, resume, cancel."""
    if verb not in VERBS:
        raise Http404(f"An erasure is not to {verb[:20]}.")
    _find(erasure_id)
    if VERBS[verb](erasure_id, actor=request.user.get_username()):
        messages.success(request, f"Erasure {erasure_id} {DONE[verb]}.")
    else:
        messages.warning(request, f"Nothing was changed: erasure {erasure_id} was not to {verb}.")
    return redirect("erasure", erasure_id)


def _find(erasure_id: int) -> Erasure:
    job = Erasure.objects.filter(erasure_id=erasure_id).first()
    if job is None:
        raise Http404(f"There is no erasure {erasure_id}.")
    return job
