"""Approvals: the jobs that await approval, their effects, and the decision."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.access import second_person
from console.access.roles import denial, is_scoped, requires
from console.access.subjects import AWAITING
from console.redrives import jobs
from console.web.forms import refused
from console.web.forms.fields import reason_field, refusals, tell
from console.web.htmx import render_page
from console.web.sidebar import Badge, once_a_request
from console.web.wording import plural
from dlq.jobs import approvals
from dlq.jobs.models import Job
from dlq.search.reach import JobThing

VERBS: dict[str, tuple[Callable[..., bool], str]] = {
    "approve": (approvals.approve, "approved"),
    "refuse": (approvals.refuse, "refused"),
}


class DecisionForm(forms.Form):
    """The reason of a decision. A refusal requires it."""

    reason = reason_field()


@once_a_request
def job_counts(request: HttpRequest) -> tuple[int, int]:
    """Return (active redrives, jobs that await approval); zeros for a person with access to some queues only."""
    return (0, 0) if is_scoped(request.user) else approvals.counts()


def open_jobs(request: HttpRequest) -> Badge:
    """Count the active redrives and the jobs that await approval."""
    active, awaiting = job_counts(request)
    words = [plural(active, "active redrive")] if active or not awaiting else []
    words += [f"{plural(awaiting, 'job')} awaiting approval"] if awaiting else []
    return Badge(active + awaiting, ", ".join(words))


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /approvals: the jobs that await approval, and why this person may not decide."""
    me, givers = request.user.get_username(), second_person.read_givers()
    waiting = [
        (job, approvals.effects(job), denial(request.user, "approve", JobThing(job)) or _objection(job, me, givers))
        for job in jobs.seen_of(request, approvals.waiting())
    ]
    context = {"title": "Approvals", "waiting": waiting}
    return render_page(request, "redrives/approvals/browse.html", "redrives/approvals/_list.html", context)


@require_POST
@requires("approve", of=AWAITING)
def decide(request: HttpRequest, noun: str, job_id: int, verb: str) -> HttpResponse:
    """POST /approvals/<noun>/<id>/approve, refuse: run the job as it was requested, or end it with a reason."""
    if noun not in approvals.MODELS:
        raise Http404(f"There is no {noun[:40]} {job_id}.")
    model = approvals.MODELS[noun]
    job, me = jobs.find(model, job_id), request.user.get_username()
    act, done = VERBS[verb]
    form = DecisionForm(request.POST)
    if job.created_by != me and (objection := _objection(job, me)):  # the service refuses the author itself
        form.add_error(None, objection)
    decided = None
    if form.is_valid():
        with refusals(form):
            decided = act(model, job_id, actor=me, reason=form.cleaned_data["reason"])
    if decided is None:
        title = f"{verb.capitalize()} {noun} #{job_id}"
        return refused.show(request, form, title=title, verb=verb.capitalize(), page=reverse("approvals"))
    tell(request, decided, f"{noun.capitalize()} #{job_id} is {done}.", f"{noun} #{job_id} no longer awaits approval")
    return redirect(noun, job_id) if decided else redirect("approvals")


def _objection(job: Job, person: str, givers: second_person.Givers | None = None) -> str:
    """Return why this person may not decide, or nothing."""
    if job.created_by == person:
        return "Another person must decide: you requested this job."
    return second_person.objection(person, job.created_by, job.created_at, givers)
