"""Plans: made from a filter, looked at, and run. Between a list and the data there is always one of these pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import PLAN
from console.filters.filter_bar import dead_letter_filter, job_filter, selected_text
from console.masking import masked
from console.redrives import jobs
from console.redrives.forms import PlanForm, RateForm
from console.web import pagination
from console.web.forms import refusals
from console.web.htmx import render_form, render_page
from console.web.wording import plural
from dlq.filters import FilterError
from dlq.masking.masks import Rules
from dlq.masking.rules import Masking
from dlq.redrives import patching, plans, redrives
from dlq.redrives.patching import DoesNotApply, Patch
from dlq.redrives.plan_models import Plan
from queues.database.query import Query
from queues.dead_letters.rows import dead_letter_samples
from queues.errors import QueueNotFound, SignalboxError
from queues.models import Queue
from signalbox.unreadable import decode

MAX_QUEUES_OFFERED = 1_000
PACES = (10, 50, 500)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET /redrives/new?q= or ?id=: what to choose. POST: the plan is written, and shown."""
    chosen = {"filter_text": selected_text(request), "target_queue": request.GET.get("target_queue", "")[:100]}
    form, mistake = PlanForm(request.POST or None, initial={**PlanForm.INITIAL, **chosen}), None
    try:
        if form.is_valid():
            return redirect("redrive_plan", _make(request, form).pk)
        if request.method != "POST":
            dead_letter_filter(request, form["filter_text"].value() or "")
    except FilterError as error:
        mistake = error
    except SignalboxError as error:
        form.refuse(error)
    context = {"title": "Plan a redrive", "form": form, "mistake": mistake, "queues": destinations(request)}
    return render_form(request, "redrives/plans/new.html", context)


def _make(request: HttpRequest, form: PlanForm) -> Plan:
    filter = job_filter(request, form.cleaned_data["filter_text"], "redrive")
    options, reach = form.options(), roles.reach(request.user, "redrive")
    queue, may_reveal = options.target_queue, roles.may_here(request, "reveal")
    if queue and not reach.is_everything and not Queue.objects.filter(reach.among(), name=queue).exists():
        raise QueueNotFound(f"queue '{queue}' does not exist")  # in the words for one that is not there
    if not may_reveal:
        Masking().check_patch(options.patch)
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    return plans.make(filter, actor=actor, reason=reason, options=options, may_reveal=may_reveal)


def destinations(request: HttpRequest) -> list[str]:
    """List the open queues to which the person may send, by name."""
    reached = Queue.objects.filter(roles.reach(request.user, "redrive").among())
    names = reached.filter(is_dead_letter_queue=False, closed=False).order_by("name")
    return list(names.values_list("name", flat=True)[:MAX_QUEUES_OFFERED])


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives/plans: all plans, newest first."""
    page = jobs.seen(request, pagination.by_id(Plan.objects.prefetch_related("redrives"), "plan_id", request))
    pager = pagination.pager(request, page, f"{plural(len(page.rows), 'plan')} shown")
    context = {"title": "Plans", "page": page, "pager": pager}
    return render_page(request, "redrives/plans/plans.html", "redrives/plans/_plans.html", context)


@require_safe
@requires("see_metadata", of=PLAN)
def show(request: HttpRequest, plan_id: int) -> HttpResponse:
    """GET /redrives/plans/<id>: what it would touch, and the button that runs it."""
    return _show(request, _find(plan_id), None)


@require_POST
@requires("redrive", of=PLAN)
def run(request: HttpRequest, plan_id: int) -> HttpResponse:
    """POST /redrives/plans/<id>/run: the redrive of what the plan shows."""
    plan, form = _find(plan_id), RateForm(request.POST)
    if form.is_valid():
        rate, actor = form.cleaned_data["rate_per_second"], request.user.get_username()
        with refusals(form):
            job = redrives.run(plan.pk, actor=actor, rate_per_second=rate, may_reveal=roles.may_here(request, "reveal"))
            return jobs.announced(request, job)
    return _show(request, plan, form)


def _show(request: HttpRequest, plan: Plan, form: RateForm | None) -> HttpResponse:
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
        "form": form or RateForm(initial={"rate_per_second": rate}),
        "paces": [(pace, plan.count / pace) for pace in sorted({*PACES, rate or PACES[0]}) if plan.count],
    }
    return render_form(request, "redrives/plans/plan.html", context)


def _warnings(plan: Plan) -> list[str]:
    """List what to think about before the run."""
    impact, tried = plan.impact, plan.impact.patch
    again = sum(number for _, number in impact.redriven)
    most = max((times for times, _ in impact.redriven), default=0)
    often = "once" if most == 1 else f"up to {most} times"
    stay = "are skipped" if plan.staging_id else "stay dead"
    groups = plural(impact.groups.count, "FIFO group")
    found = [
        (again, f"of them were redriven before, {often}, and died again."),
        (impact.left_out, f"are left out: they were redriven more than {plan.choices.max_redrives} times."),
        (impact.conflicts, f"{stay}: another message holds their deduplication id now."),
        (impact.large_bodies_gone, "are skipped: their large body is in the store no more."),
        (impact.dealt_with, "dead letters are left out: they are still dead here, or were sent again since."),
        (
            impact.groups.messages if impact.groups.count else 0,
            f"belong to {groups}: they keep their order, one at a time, and rejoin their groups at the end.",
        ),
    ]
    warnings = [f"{number:,} {rest}" for number, rest in found if number]
    if tried and tried.not_applied:
        warnings.append(f"The patch does not apply to {tried.not_applied:,} of {tried.looked_at:,}: those stay dead.")
    return warnings


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
        # A queue that was archived may be gone, and with it what says whose it was.
        rules = masking.everywhere() if staged else masking.of_dead_letters(source)
        changes = _changes(patch, whole, rules) if patch and whole else ((), "")
        samples.append(Sample(message_id, source, died_at, rules.mask_text(text), *changes))
    return samples


def _changes(patch: Patch, text: str, rules: Rules) -> tuple[Sequence[tuple[str, str]], str]:
    """Show what the patch changes, line by line, or why it does not apply; with the mask over both."""
    try:
        return masked.difference(rules, text, patch.apply(text)), ""
    except DoesNotApply as problem:
        return (), rules.view(decode(text)).text(str(problem)) or ""


def _find(plan_id: int) -> Plan:
    plan = Plan.objects.select_related("staging").filter(plan_id=plan_id, kind=Plan.Kind.REDRIVE).first()
    if plan is None:
        raise Http404(f"There is no plan {plan_id}.")
    return plan
