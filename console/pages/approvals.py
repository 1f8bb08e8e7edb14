"""Approvals: jobs above a threshold, what they would do, and the second person's decision."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import jobs, second_person
from console.htmx import render_page
from console.roles import denial, requires
from console.subjects import AWAITING
from dlq import approvals
from dlq.models import Job
from dlq.reaching import JobThing
from queues.errors import InvalidArgument


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /approvals: every job that waits for a second person, and why this reader may not decide."""
    me, givers = request.user.get_username(), second_person.read_givers()
    waiting = [
        (job, approvals.effects(job), denial(request.user, "approve", JobThing(job)) or _objection(job, me, givers))
        for job in jobs.seen_of(request, approvals.waiting())
    ]
    context = {"title": "Approvals", "waiting": waiting}
    return render_page(request, "approvals/browse.html", "approvals/_list.html", context)


@require_POST
@requires("approve", of=AWAITING)
def approve(request: HttpRequest, noun: str, job_id: int) -> HttpResponse:
    """POST /approvals/<noun>/<id>/approve: it runs as it was asked for."""
    return _decide(request, noun, job_id, approvals.approve, "approved")


@require_POST
@requires("approve", of=AWAITING)
def refuse(request: HttpRequest, noun: str, job_id: int) -> HttpResponse:
    """POST /approvals/<noun>/<id>/refuse: it never runs; a reason is for whoever asked."""
    return _decide(request, noun, job_id, approvals.refuse, "refused")


def _decide(request: HttpRequest, noun: str, job_id: int, verb: Callable[..., bool], done: str) -> HttpResponse:
    model: type[Job] | None = approvals.MODELS.get(noun)
    job = None if model is None else model._default_manager.filter(pk=job_id).first()
    if model is None or job is None:
        raise Http404(f"There is no {noun[:40]} {job_id}.")
    me = request.user.get_username()
    if job.created_by != me and (objection := _objection(job, me)):  # what is said to the author, the service says
        messages.error(request, f"Nothing was changed. {objection}")
        return redirect("approvals")
    try:
        decided = verb(model, job_id, actor=me, reason=request.POST.get("reason", "")[:500])
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("approvals")
    if not decided:
        messages.warning(request, f"Nothing was changed: {noun} {job_id} no longer waits.")
        return redirect("approvals")
    messages.success(request, f"{noun.capitalize()} {job_id} is {done}.")
    return redirect(noun, job_id)


def _objection(job: Job, person: str, givers: second_person.Givers | None = None) -> str:
    """Why this person is not the second one."""
    if job.created_by == person:
        return "Somebody else has to decide: you asked."
    return second_person.objection(person, job.created_by, job.created_at, givers)
