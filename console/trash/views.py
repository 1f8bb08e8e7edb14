"""Pages of the trash: deletions of dead letters, purges of queues, and undos of both."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import DELETION, PURGE, QUEUE, UNDO
from console.dead_letters import causes
from console.filters.filter_bar import MAX_FILTER_CHARACTERS, job_filter, selected_text
from console.masking import masked
from console.queues import head as queue_head
from console.redrives import jobs
from console.web.forms.fields import ReasonForm, refusals, required_reason
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from dlq.filters import FilterError
from dlq.jobs import confirmations
from dlq.jobs.lifecycle import threshold
from dlq.jobs.models import Deletion, Purge, Undo
from dlq.redrives import plans
from dlq.search.checked_filter import CheckedFilter, everything
from dlq.search.reach import JobThing
from dlq.trash import deletions, purges, restore, trash
from dlq.trash.purges import Bounds
from dlq.trash.trash import Heap
from queues.errors import InvalidArgument, SignalboxError

LATEST = 10
STATES = {
    "ready": "Ready",
    "scheduled": "Scheduled",
    "waiting": "Waiting for their group",
    "leased": "In flight (consumers' acks will be rejected)",
    "dead": "Dead",
}


COLUMNS: Columns[Heap] = {
    "job": lambda heap: heap.job.pk,
    "what": lambda heap: heap.job.queue_name if isinstance(heap.job, Purge) else heap.job.filter_text,
    "left": lambda heap: heap.trash_batch.left,
    "restored": lambda heap: heap.trash_batch.restored,
    "by": lambda heap: heap.job.created_by,
    "ends": lambda heap: heap.trash_batch.expires_at,
}


class DeletionForm(forms.Form):
    """The form of a deletion: the selection of its preview, and a typed word when it is large."""

    WORD = "delete"
    filter_text = forms.CharField(required=False, max_length=MAX_FILTER_CHARACTERS, widget=forms.HiddenInput)
    upper_bound = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    as_of = forms.DateTimeField(widget=forms.HiddenInput)
    reason = required_reason()
    confirmation = forms.CharField(max_length=20, required=False)


class PurgeForm(forms.Form):
    """The form of a purge: for a large one, the person types the name of the queue."""

    states = forms.MultipleChoiceField(error_messages={"required": "Choose at least one state."})
    through_message_id = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    through_dead_letter_id = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    typed_name = forms.CharField(label="Name of the queue", max_length=100, required=False)
    reason = required_reason()

    def __init__(self, data: Any = None, *, states: list[str]) -> None:
        super().__init__(data)
        self.fields["states"].choices = [(state, state) for state in states]  # type: ignore[attr-defined]


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", in_part=True)
def new_deletion(request: HttpRequest) -> HttpResponse:
    """GET /deletions/new?q= or ?id=: the preview, frozen at this moment. POST: delete the messages of the preview."""
    form = DeletionForm(request.POST) if request.method == "POST" else None
    if form is not None and form.is_valid():
        options = {name: value for name, value in form.cleaned_data.items() if name != "confirmation"}
        options |= {"actor": request.user.get_username(), "limited": roles.is_limited_here(request)}
        confirmed = form.cleaned_data["confirmation"].strip().lower() == form.WORD
        try:
            filter = _deletion_filter(request, options.pop("filter_text"))
            job = deletions.create(filter, confirmed=confirmed, **options)
        except (SignalboxError, FilterError) as error:
            field = getattr(error, "field", None)
            form.add_error("confirmation" if field == "confirmation" else None, str(error))
        else:
            return jobs.announced(request, job)
    return _review(request, form)


def _review(request: HttpRequest, form: DeletionForm | None) -> HttpResponse:
    mistake, preview, found = None, None, None
    text = (form["filter_text"].value() or "") if form else selected_text(request)
    try:
        if filter := _deletion_filter(request, text):
            see = roles.may_here(request, "see_payloads")
            preview = masked.preview(plans.preview(filter, with_payloads=see))
            text, found = str(filter), masked.found_causes(causes.read(filter))
    except FilterError as error:
        mistake = error
    context = {
        "title": "Delete dead letters",
        "filter_text": text,
        "mistake": mistake,
        "preview": preview,
        "causes": found,
        "form": form or DeletionForm(),
        **_promise(request, "deletion"),
    }
    return render_form(request, "trash/deletions/review.html", context)


def _deletion_filter(request: HttpRequest, text: str) -> CheckedFilter:
    """Check the filter; an empty one stays empty, and is refused when the deletion is made."""
    return job_filter(request, text, "purge") if text.strip() else everything()


def _promise(request: HttpRequest, noun: str) -> dict[str, Any]:
    """Return the numbers of `trash/_promise.html`."""
    return {
        "hours": trash.hours(),
        "confirm_above": confirmations.above(noun),
        "approve_above": threshold(noun, roles.is_limited_here(request)),
    }


@require_safe
@requires("see_metadata", of=DELETION)
def show_deletion(request: HttpRequest, deletion_id: int) -> HttpResponse:
    """GET /deletions/<id>: show the progress of a deletion."""
    job = jobs.find(Deletion, deletion_id)
    return jobs.show(request, job, "trash/deletions", heap=trash.heap_of(job))


@require_POST
@requires("purge", of=DELETION)
def cancel_deletion(request: HttpRequest, deletion_id: int) -> HttpResponse:
    """POST /deletions/<id>/cancel: cancel the deletion after the current batch."""
    return jobs.cancel(request, Deletion, deletion_id, deletions.cancel, "Deleted messages are in the trash.")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", of=QUEUE)
def new_purge(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/purge: the preview, frozen at this moment. POST: purge the messages of the preview."""
    head = queue_head.find(name)
    states = list(purges.states_of(head.queue))
    form = PurgeForm(request.POST if request.method == "POST" else None, states=states)
    if form.is_valid():
        given = form.cleaned_data
        bounds = Bounds(given["through_message_id"], given["through_dead_letter_id"])
        actor, reason = request.user.get_username(), given["reason"]
        with refusals(form):
            told = {"actor": actor, "reason": reason, "limited": roles.is_limited_here(request)}
            job = purges.create(name, given["states"], bounds, given["typed_name"], **told)
            return jobs.announced(request, job)
    chosen = form["states"].value() or ["dead" if "dead" in states else "ready"]
    preview = purges.preview(name, states)
    context = {
        "title": f"Purge · {name}",
        "head": head,
        "form": form,
        "bounds": preview.bounds,
        "choices": [(state, STATES[state], preview.counts[state], state in chosen) for state in states],
        **_promise(request, "purge"),
    }
    return render_form(request, "trash/purges/new.html", context)


@require_safe
@requires("see_metadata", of=PURGE)
def show_purge(request: HttpRequest, purge_id: int) -> HttpResponse:
    """GET /purges/<id>: show the progress of a purge."""
    job = jobs.find(Purge, purge_id)
    return jobs.show(request, job, "trash/purges", heap=trash.heap_of(job))


@require_POST
@requires("purge", of=PURGE)
def cancel_purge(request: HttpRequest, purge_id: int) -> HttpResponse:
    """POST /purges/<id>/cancel: cancel the purge after the current batch."""
    return jobs.cancel(request, Purge, purge_id, purges.cancel, "Removed messages are in the trash.")


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /trash: the contents by job, the next to expire first, and the latest undos."""
    heaps = arrange(request, (heap for heap in trash.heaps() if jobs.is_seen(request, heap.job)), COLUMNS)
    context = {
        "title": "Trash",
        "heaps": heaps.rows,
        "sort": heaps.links,
        "hours": trash.hours(),
        "undos": jobs.seen_of(request, Undo.objects.order_by("-undo_id")[:LATEST]),
    }
    return render_page(request, "trash/browse.html", "trash/_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("purge", in_part=True)
def new_undo(request: HttpRequest) -> HttpResponse:
    """GET /undos/new?noun=&id=: the preview of an undo. POST: start the undo."""
    given = request.POST if request.method == "POST" else request.GET
    noun, number = given.get("noun", ""), given.get("id", "")
    if noun not in trash.REMOVERS or not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Http404("The address must name a purge or a deletion.")
    removed = trash.REMOVERS[noun]._default_manager.filter(pk=int(number)).first()
    roles.enter(request, "purge", JobThing(removed) if removed else None, f"There is no {noun} {number}.")
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        actor, reason = request.user.get_username(), form.cleaned_data["reason"]
        with refusals(form):
            limited = roles.is_limited_here(request)
            job = restore.create(noun, int(number), actor=actor, reason=reason, limited=limited)
            return jobs.announced(request, job)
    try:
        preview = restore.preview(noun, int(number))
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("trash")
    context = {"title": f"Restore {noun} #{number}", "preview": preview, "noun": noun, "form": form}
    return render_form(request, "trash/review.html", context)


@require_safe
@requires("see_metadata", of=UNDO)
def show_undo(request: HttpRequest, undo_id: int) -> HttpResponse:
    """GET /undos/<id>: show the progress of an undo."""
    return jobs.show(request, jobs.find(Undo, undo_id), "trash", "trash")


@require_POST
@requires("purge", of=UNDO)
def cancel_undo(request: HttpRequest, undo_id: int) -> HttpResponse:
    """POST /undos/<id>/cancel: cancel the undo after the current batch."""
    return jobs.cancel(request, Undo, undo_id, restore.cancel, "Restored messages stay; the others are in the trash.")
