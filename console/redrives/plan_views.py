"""Pages of redrive plans: make one from a filter, review it, and run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import PLAN
from console.filters.filter_bar import dead_letter_filter, job_filter, selected_text
from console.fleet.presence import is_fleet
from console.masking import masked
from console.redrives import jobs
from console.redrives.forms import PlanForm, RunForm, initial_of
from console.web import pagination
from console.web.forms.fields import refusals
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.filters import FilterError
from dlq.jobs import confirmations
from dlq.jobs.models import Redrive
from dlq.masking.masks import Rules
from dlq.masking.rules import Masking
from dlq.redrives import patching, plans, redrives
from dlq.redrives.fleet import parts as over_cells
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.patching import DoesNotApply, Patch
from dlq.redrives.plan_models import Impact, Plan
from dlq.search.reach import JobThing
from queues.database.query import Query
from queues.dead_letters.rows import dead_letter_samples
from queues.errors import QueueNotFound, SignalboxError
from queues.models import Queue
from signalbox.payloads.unreadable import decode

MAX_QUEUES_OFFERED = 1_000
PACES = (10, 50, 500)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET /redrives/new?q=, ?id= or ?plan=: the form. POST: make the plan and go to its page."""
    edited = _edited_plan(request)
    form, mistake = PlanForm(request.POST or None, initial=_initial(request, edited)), None
    try:
        if form.is_valid():
            if form.cleaned_data["all_cells"]:
                return redirect("fleet_redrive", _make_over_cells(request, form).pk)
            return redirect("redrive_plan", _make(request, form).pk)
        if request.method != "POST":
            dead_letter_filter(request, form["filter_text"].value() or "")
    except FilterError as error:
        mistake = error
    except SignalboxError as error:
        form.refuse(error)
    context = {
        "title": "Plan a redrive",
        "form": form,
        "mistake": mistake,
        "queues": destinations(request),
        "edited": edited,
        "offers_cells": is_fleet(request) and roles.may(request.user, "redrive"),
        "patch_lost": edited is not None and edited.choices.patch_kind and not _may_repeat_patch(request, edited),
    }
    return render_form(request, "redrives/plans/new.html", context)


def _edited_plan(request: HttpRequest) -> Plan | None:
    """Find the plan that the form repeats, if the person may redrive it."""
    number = request.GET.get("plan", "")
    if request.method == "POST" or not number:
        return None
    missing = f"There is no plan {number[:40]}."
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Http404(missing)
    plan = Plan.objects.filter(plan_id=int(number), kind=Plan.Kind.REDRIVE, staging=None).first()
    if plan is None:
        raise Http404(missing)
    roles.enter(request, "redrive", JobThing(plan), missing)
    return plan


def _initial(request: HttpRequest, edited: Plan | None) -> dict[str, Any]:
    if edited is not None:
        return initial_of(edited, with_patch=_may_repeat_patch(request, edited))
    chosen = {"filter_text": selected_text(request), "target_queue": request.GET.get("target_queue", "")[:100]}
    return {**PlanForm.INITIAL, **chosen}


def _may_repeat_patch(request: HttpRequest, plan: Plan) -> bool:
    """Tell whether the form may show the patch of a plan: only if the plan's page shows this person the whole patch."""
    options = plan.choices
    return roles.may_here(request, "see_payloads") and masked.patch_text(options) == options.patch_text


def _make_over_cells(request: HttpRequest, form: PlanForm) -> FleetRedrive:
    """Plan a redrive in every cell. Only for people who may redrive all queues, because grants apply to one cell."""
    roles.check(request.user, "redrive")
    options, may_reveal = form.options(), roles.may_here(request, "reveal")
    if not may_reveal:
        Masking().check_patch(options.patch)
    return over_cells.make(
        job_filter(request, form.cleaned_data["filter_text"], "redrive"),
        actor=request.user.get_username(),
        reason=form.cleaned_data["reason"],
        options=options,
        may_reveal=may_reveal,
    )


def _make(request: HttpRequest, form: PlanForm) -> Plan:
    filter = job_filter(request, form.cleaned_data["filter_text"], "redrive")
    options, reach = form.options(), roles.reach(request.user, "redrive")
    queue, may_reveal = options.target_queue, roles.may_here(request, "reveal")
    if queue and not reach.is_everything and not Queue.objects.filter(reach.among(), name=queue).exists():
        raise QueueNotFound(f"queue '{queue}' does not exist")  # the same text as for a queue that does not exist
    if not may_reveal:
        Masking().check_patch(options.patch)
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    return plans.make(filter, actor=actor, reason=reason, options=options, may_reveal=may_reveal)


def destinations(request: HttpRequest) -> list[str]:
    """List the open queues to which the person may send, by name."""
    reached = Queue.objects.filter(roles.reach(request.user, "redrive").among())
    names = reached.filter(is_dead_letter_queue=False, closed=False).order_by("name")
    return list(names.values_list("name", flat=True)[:MAX_QUEUES_OFFERED])


COLUMNS: Columns[Plan] = {
    "plan": lambda plan: plan.plan_id,
    "filter": lambda plan: plan.filter_text,
    "messages": lambda plan: plan.count,
    "runs": lambda plan: len(plan.redrives.all()),
    "by": lambda plan: plan.created_by,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives/plans: all plans, newest first."""
    plans_made = Plan.objects.prefetch_related("redrives")
    listed = arrange_newest(request, plans_made, "plan_id", COLUMNS, time="created")
    page = jobs.seen(request, listed.page)
    pager = pagination.pager(request, page, f"{plural(len(page.rows), 'plan')} shown{listed.limits}")
    context = {"title": "Plans", "page": page, "pager": pager, "sort": listed.links}
    return render_page(request, "redrives/plans/plans.html", "redrives/plans/_plans.html", context)


@require_safe
@requires("see_metadata", of=PLAN)
def show(request: HttpRequest, plan_id: int) -> HttpResponse:
    """GET /redrives/plans/<id>: show the impact and the button that runs the plan."""
    return _show(request, _find(plan_id), None)


@require_POST
@requires("redrive", of=PLAN)
def run(request: HttpRequest, plan_id: int) -> HttpResponse:
    """POST /redrives/plans/<id>/run: start the redrive of the messages that the plan shows."""
    plan, form = _find(plan_id), RunForm(request.POST)
    if form.is_valid():
        with refusals(form):
            return jobs.announced(request, _run(request, plan, form))
    return _show(request, plan, form)


def _run(request: HttpRequest, plan: Plan, form: RunForm) -> Redrive:
    return redrives.run(
        plan.pk,
        actor=request.user.get_username(),
        rate_per_second=form.cleaned_data["rate_per_second"],
        may_reveal=roles.may_here(request, "reveal"),
        confirmed=form.cleaned_data["confirmation"].strip().lower() == redrives.CONFIRMATION_WORD,
    )


def _show(request: HttpRequest, plan: Plan, form: RunForm | None) -> HttpResponse:
    rate = plan.choices.rate_per_second
    destinations = plans.destinations(plan)
    context = {
        "title": f"Plan {plan.pk}",
        "plan": plan,
        "options": plan.choices,
        "patch_text": masked.patch_text(plan.choices),
        "warnings": [*_warnings(plan), *(warning for one in destinations for warning in one.warnings)],
        "destinations": destinations,
        "samples": _samples(plan, with_payloads=roles.may_here(request, "see_payloads")),
        "runs": plan.redrives.order_by("-redrive_id")[:10],
        "form": form or RunForm(initial={"rate_per_second": rate}),
        "confirmation_word": redrives.CONFIRMATION_WORD if _must_confirm(plan) else "",
        "confirm_above": confirmations.above(Redrive.NOUN),
        "paces": [(pace, plan.count / pace) for pace in sorted({*PACES, rate or PACES[0]}) if plan.count],
    }
    return render_form(request, "redrives/plans/plan.html", context)


def _must_confirm(plan: Plan) -> bool:
    return confirmations.asks(Redrive.NOUN, plan.count, exact=plan.count_is_exact)


def _warnings(plan: Plan) -> list[str]:
    """List the warnings of a plan, as sentences."""
    impact, tried = plan.impact, plan.impact.patch
    groups = plural(impact.groups.count, "FIFO group")
    found = [
        (impact.left_out, f"will be skipped: redriven more than {plan.choices.max_redrives} times."),
        (impact.conflicts, "will be skipped: another message holds their deduplication id."),
        (impact.large_bodies_gone, "will be skipped: their large body has been deleted from the store."),
        (impact.dealt_with, "will be skipped: they are still dead letters, or were redriven already."),
        (
            impact.groups.messages if impact.groups.count else 0,
            f"belong to {groups}: they keep their order and join the end of their groups.",
        ),
    ]
    warnings = [*_failed_before(impact), *(f"{number:,} {rest}" for number, rest in found if number)]
    if tried and tried.not_applied:
        warnings.append(f"The patch does not apply to {tried.not_applied:,} of {tried.looked_at:,}: they are skipped.")
    return warnings


def _failed_before(impact: Impact) -> list[str]:
    number = sum(number for _, number in impact.redriven)
    most = max((times for times, _ in impact.redriven), default=0)
    return [plans.failed_before(number, most)] if number else []


@dataclass(frozen=True)
class Sample:
    """A dead letter of the plan, if it is still one; `lines` are what the patch changes, `problem` why it does not."""

    message_id: int
    source_queue: str
    died_at: object
    payload_text: str | None
    lines: Sequence[tuple[str, str]] = ()
    problem: str = ""


_STAGED = """
select s.message_id, s.message_id, coalesce(s.queue, ''), s.ended_at, left(s.payload, 2048),
  case when s.body_sha256 is null and octet_length(s.payload) <= 65536 then s.payload end
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[])
order by s.message_id desc
"""


def _samples(plan: Plan, *, with_payloads: bool) -> list[Sample]:
    staged = plan.staging_id is not None
    rows = Query(_STAGED, [plan.staging_id, plan.sample_ids]).rows() if staged else dead_letter_samples(plan.sample_ids)
    if not with_payloads:
        return [Sample(message_id, source, died_at, None) for _, message_id, source, died_at, _, _ in rows]
    masking, patch = Masking(), patching.read(plan.choices.patch_kind, plan.choices.patch)
    samples = []
    for _, message_id, source, died_at, text, whole in rows:
        # An archived queue may be deleted, and its tenant unknown: apply the rules of all queues.
        rules = masking.everywhere() if staged else masking.of_dead_letters(source)
        changes = _changes(patch, whole, rules) if patch and whole else ((), "")
        samples.append(Sample(message_id, source, died_at, rules.mask_text(text), *changes))
    return samples


def _changes(patch: Patch, text: str, rules: Rules) -> tuple[Sequence[tuple[str, str]], str]:
    """Return the changed lines, or why the patch does not apply. Masked fields are masked in both."""
    try:
        return masked.difference(rules, text, patch.apply(text)), ""
    except DoesNotApply as problem:
        return (), rules.view(decode(text)).text(str(problem)) or ""


def _find(plan_id: int) -> Plan:
    plan = Plan.objects.select_related("staging").filter(plan_id=plan_id, kind=Plan.Kind.REDRIVE).first()
    if plan is None:
        raise Http404(f"There is no plan {plan_id}.")
    return plan
