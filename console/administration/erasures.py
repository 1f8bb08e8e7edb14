"""Pages of erasures, which remove one person's data: the form, its preview, progress and report."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import suggestions
from console.access.roles import requires
from console.filters.moments import MomentField
from console.redrives import jobs
from console.web.forms.fields import refuse, required_reason, suggest
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from dlq.erasure import erasures, report
from dlq.erasure.erasures import ErasureRequest
from dlq.erasure.models import MAX_ROWS_PER_SECOND, USUAL_ROWS_PER_SECOND, Erasure
from dlq.erasure.target import MAX_VALUE_CHARACTERS, PARTS
from queues.errors import SignalboxError

LATEST = 50
COLUMNS: Columns[Erasure] = {
    "number": lambda job: job.erasure_id,
    "state": lambda job: job.state,
    "what": lambda job: f"{job.part}.{job.path}",
    "checked": lambda job: job.looked,
    "found": lambda job: job.found,
    "by": lambda job: job.created_by,
    "requested": lambda job: job.created_at,
}
SALT = "signalbox.erasure"
VERBS = {
    "pause": (erasures.pause, "is paused"),
    "resume": (erasures.resume, "goes on"),
    "cancel": (erasures.cancel, "is cancelled. Erased data stays erased"),
}
NOT_WANTED = {"reason", "confirmation", "previewed"}
NOT_SEEN = {*NOT_WANTED, "rows_per_second"}
LIVE = [
    ("hold", "skip and report"),
    ("redact", "erase now; consumers receive the marker"),
    ("delete", "delete permanently"),
]


class ErasureForm(forms.Form):
    """The search values and options of an erasure. The erasure is limited to what its preview counted."""

    part = forms.ChoiceField(choices=[(part, part) for part in PARTS])
    path = forms.CharField(
        max_length=200, help_text='As in customer.id, **.email, lines[].sku; quotes hold dots: "a.b".c'
    )
    value = forms.CharField(
        max_length=MAX_VALUE_CHARACTERS + 2,
        strip=False,
        help_text='4711 is the number or the string, "4711" the string alone. It is kept until the job ends.',
    )
    live = forms.ChoiceField(label="Pending messages", choices=LIVE)
    queues = forms.CharField(
        max_length=2_000, required=False, help_text="Names, separated by commas. Empty: all queues."
    )
    tenant = forms.CharField(max_length=100, required=False, help_text="All queues of a tenant.")
    since = MomentField(help_text="Messages sent at or after this time.")
    until = MomentField(help_text="Messages sent before this time.")
    rows_per_second = forms.IntegerField(
        label="Rate", min_value=1, max_value=MAX_ROWS_PER_SECOND, initial=USUAL_ROWS_PER_SECOND
    )
    reason = required_reason("The person who asked for the erasure. The audit keeps this text, and not the value.")
    confirmation = forms.CharField(label="Type erase", max_length=20, required=False)
    previewed = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rows_per_second"].unit = "rows per second"  # type: ignore[attr-defined]
        for name in ("path", "value", "confirmation"):
            self.fields[name].widget.attrs |= {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}

    def wanted(self) -> ErasureRequest:
        """Return the erasure that a valid form describes."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in NOT_WANTED}
        names = [name.strip() for name in given.pop("queues").split(",") if name.strip()]
        return ErasureRequest(queues=names, **given)


@require_safe
@requires("erase")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /erasures: list erasures, newest first."""
    latest = arrange(request, Erasure.objects.order_by("-erasure_id")[:LATEST], COLUMNS)
    context = {"title": "Erasure requests", "erasures": latest.rows, "sort": latest.links}
    return render_page(request, "administration/erasures/browse.html", "administration/erasures/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("erase")
def new(request: HttpRequest) -> HttpResponse:
    """GET /erasures/new: the form. POST: a preview, an exact count, or the start of the previewed erasure.

    Always by POST, because search values must not appear in addresses and logs.
    """
    form = ErasureForm(request.POST if request.method == "POST" else None)
    suggest(form, queues=suggestions.queue_names(request), tenant=suggestions.tenant_names(request))
    seen = None
    if form.is_valid():
        try:
            step = request.POST.get("step", "preview")
            if step == "preview" or not _was_seen(form):
                seen = erasures.preview(form.wanted())
            else:
                return _start(request, form, only_counts=step == "count")
        except SignalboxError as error:
            refuse(form, error)
            if getattr(error, "field", None) in ("confirmation", "reason"):
                seen = erasures.preview(form.wanted())
    context = {
        "title": "Erase one person's data",
        "form": form,
        "seen": seen,
        "token": _token(form) if seen else "",
        "word": erasures.WORD,
    }
    return render_form(request, "administration/erasures/new.html", context)


def _start(request: HttpRequest, form: ErasureForm, *, only_counts: bool) -> HttpResponse:
    said = {name: form.cleaned_data[name] for name in ("reason", "confirmation")}
    job = erasures.create(form.wanted(), actor=request.user.get_username(), only_counts=only_counts, **said)
    messages.success(request, f"{'Count' if only_counts else 'Erasure'} {job.erasure_id} is pending.")
    return redirect("erasure", job.erasure_id)


def _was_seen(form: ErasureForm) -> bool:
    """Return whether the person previewed exactly this erasure. A changed value needs a new preview."""
    return constant_time_compare(form.cleaned_data["previewed"], _token(form))


def _token(form: ErasureForm) -> str:
    wanted: Any = {name: str(form.cleaned_data.get(name)) for name in form.fields if name not in NOT_SEEN}
    return signing.Signer(key=settings.SECRET_KEY, salt=SALT).signature(json.dumps(wanted, sort_keys=True))


@require_safe
@requires("erase")
def show(request: HttpRequest, erasure_id: int) -> HttpResponse:
    """GET /erasures/<id>: the progress and the results of an erasure."""
    job = jobs.find(Erasure, erasure_id)
    context = {
        "title": f"{'Count' if job.only_counts else 'Erasure'} {erasure_id}",
        "job": job,
        "progress": jobs.progress_of(job),
        "report": report.report(job),
    }
    return render_page(request, "administration/erasures/show.html", "administration/erasures/_job.html", context)


@require_safe
@requires("erase")
def download(request: HttpRequest, erasure_id: int) -> HttpResponse:
    """GET /erasures/<id>/report: the report as a file."""
    text = json.dumps(report.report(jobs.find(Erasure, erasure_id)), indent=2, ensure_ascii=False)
    answer = HttpResponse(text, content_type="application/json; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="erasure-{erasure_id}.json"'
    return answer


@require_POST
@requires("erase")
def change(request: HttpRequest, erasure_id: int, verb: str) -> HttpResponse:
    """POST /erasures/<id>/pause, resume or cancel: change the state of an erasure."""
    if verb not in VERBS:
        raise Http404(f"An erasure cannot {verb[:20]}.")
    jobs.find(Erasure, erasure_id)
    act, done = VERBS[verb]
    if act(erasure_id, actor=request.user.get_username()):
        messages.success(request, f"Erasure {erasure_id} {done}.")
    else:
        messages.warning(request, f"Nothing was changed: erasure {erasure_id} was not to {verb}.")
    return redirect("erasure", erasure_id)
