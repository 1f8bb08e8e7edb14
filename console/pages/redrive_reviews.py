"""The review of a redrive: what would move, where to and what to think about first; then its start."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console import causes, masked, roles
from console.filterbar import readable_filter
from console.forms import RedriveForm
from console.frame import Frame
from console.pages.selections import chosen_text
from console.roles import requires
from dlq import plans, redrives
from dlq.filters import FilterError, parse
from dlq.plans import Preview
from queues.errors import SignalboxError
from queues.models import Queue

DEFAULT_RATE = 50
MOST_QUEUES_OFFERED = 1_000


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive")
def new(request: HttpRequest) -> HttpResponse:
    """GET /redrives/new?q= or ?id=: the review, frozen now. POST: the redrive of what the review showed."""
    form = RedriveForm(request.POST) if request.method == "POST" else None
    if form is not None and form.is_valid():
        try:
            readable_filter(form.cleaned_data["filter_text"], request.user)
            job = redrives.create(actor=request.user.get_username(), **_options(form))
        except (SignalboxError, FilterError) as error:
            field = getattr(error, "field", None)
            form.add_error(field if field in form.fields else None, str(error))
        else:
            waits = "waits for a second person" if job.is_awaiting else "is on its way"
            messages.success(request, f"Redrive {job.redrive_id} {waits}.")
            return redirect("redrive", job.redrive_id)
    return _review(request, form)


def _options(form: RedriveForm) -> dict[str, object]:
    return {**form.cleaned_data, "target_queue": form.cleaned_data["target_queue"] or None}


def _review(request: HttpRequest, form: RedriveForm | None) -> HttpResponse:
    """Look again. After a refused POST everything is frozen anew, and what was typed stays."""
    mistake, preview = None, None
    target = (form["target_queue"].value() if form else request.GET.get("target_queue")) or ""
    text = (form["filter_text"].value() or "") if form else chosen_text(request)
    try:
        preview = _look(request, text, target)
    except FilterError as error:
        mistake = error
    except SignalboxError as error:
        messages.error(request, str(error))
        target, preview = "", _look(request, text, "")
    context = {
        "title": "Review of a redrive",
        "frame": Frame(request),
        "filter_text": text,
        "mistake": mistake,
        "preview": preview,
        "causes": masked.found_causes(causes.read(parse(text))) if preview else None,
        "target": target,
        "queues": _destinations(),
        "form": form or RedriveForm(initial={"rate_per_second": DEFAULT_RATE}),
        "paces": _paces(preview) if preview else [],
    }
    return render(request, "redrives/review.html", context, status=422 if mistake or (form and form.errors) else 200)


def _look(request: HttpRequest, text: str, target: str) -> Preview:
    readable_filter(text, request.user)
    return masked.preview(plans.preview(text, target or None, with_payloads=roles.may(request.user, "see_payloads")))


def _destinations() -> list[str]:
    names = Queue.objects.filter(is_dead_letter_queue=False, closed=False).order_by("name")
    return list(names.values_list("name", flat=True)[:MOST_QUEUES_OFFERED])


def _paces(preview: Preview) -> list[tuple[int, float]]:
    """(messages per second, seconds it takes): what a rate means here."""
    return [(rate, preview.count.number / rate) for rate in (10, DEFAULT_RATE, 500) if preview.count.number]
