"""Plans: made from a filter, looked at, and run. Between a list and the data there is always one of these pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import jobs, keyset, masked, roles
from console.filterbar import readable_filter
from console.frame import Frame
from console.held_filters import held_filter
from console.htmx import render_page
from console.pages.selections import chosen_text
from console.plan_forms import PlanForm, RunForm
from console.roles import requires
from console.subjects import PLAN
from console.wording import plural
from dlq import patching, plans, redrives
from dlq.filters import FilterError
from dlq.finding import Query
from dlq.masking import Rules
from dlq.masking_rules import Masking
from dlq.models import Plan
from dlq.patching import DoesNotApply, Patch
from queues.errors import QueueNotFound, SignalboxError
from queues.models import Queue
from signalbox.unreadable import decode

MOST_QUEUES_OFFERED = 1_000
PACES = (10, 50, 500)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET /redrives/new?q= or ?id=: what to choose. POST: the plan is written, and shown."""
    form, mistake = PlanForm(request.POST or None, initial=_initial(request)), None
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("redrive_plan", _make(request, form).pk)
        except FilterError as error:
            mistake = error
        except SignalboxError as error:
            field = getattr(error, "field", None) or "target_queue"
            form.add_error(field if field in form.fields else None, str(error))
    elif request.method != "POST":
        mistake = _mistake(request, form["filter_text"].value() or "")
    context = {
        "title": "Plan a redrive",
        "frame": Frame(request),
        "form": form,
        "mistake": mistake,
        "queues": _destinations(request),
    }
    return render(request, "redrives/new.html", context, status=422 if mistake or form.errors else 200)


def _initial(request: HttpRequest) -> dict[str, object]:
    target = request.GET.get("target_queue", "")[:100]
    return {**PlanForm.INITIAL, "filter_text": chosen_text(request), "target_queue": target}


def _mistake(request: HttpRequest, text: str) -> FilterError | None:
    try:
        readable_filter(text, request)
    except FilterError as error:
        return error
    return None


def _make(request: HttpRequest, form: PlanForm) -> Plan:
    text = form.cleaned_data["filter_text"]
    text = held_filter(request, text, "redrive")
    options = form.options()
    _check_target(request, options.target_queue)
    may_reveal = masked.may_reveal(request)
    if not may_reveal:
        Masking().check_patch(options.patch)
    return plans.make(
        text,
        actor=request.user.get_username(),
        reason=form.cleaned_data["reason"],
        options=options,
        may_reveal=may_reveal,
    )


def _check_target(request: HttpRequest, name: str | None) -> None:
    """Refuse a destination where the person may not send: in the words for one that is not there."""
    reach = roles.reach(request.user, "redrive")
    if name and not reach.is_everything and not Queue.objects.filter(reach.among(), name=name).exists():
        raise QueueNotFound(f"queue '{name}' does not exist")


def _destinations(request: HttpRequest) -> list[str]:
    reached = Queue.objects.filter(roles.reach(request.user, "redrive").among())
    names = reached.filter(is_dead_letter_queue=False, closed=False).order_by("name")
    return list(names.values_list("name", flat=True)[:MOST_QUEUES_OFFERED])


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /redrives/plans: all plans, newest first."""
    page = jobs.seen(request, keyset.by_id(Plan.objects.prefetch_related("redrives"), "plan_id", request))
    context = {
        "title": "Plans",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'plan')} shown"),
    }
    return render_page(request, "redrives/plans.html", "redrives/_plans.html", context)


@require_safe
@requires("see_metadata", of=PLAN)
def show(request: HttpRequest, plan_id: int) -> HttpResponse:
    """GET /redrives/plans/<id>: what it would touch, and the button that runs it."""
    return _show(request, _find(plan_id), None)


@require_POST
@requires("redrive", of=PLAN)
def run(request: HttpRequest, plan_id: int) -> HttpResponse:
    """POST /redrives/plans/<id>/run: the redrive of what the plan shows."""
    plan, form = _find(plan_id), RunForm(request.POST)
    if form.is_valid():
        try:
            rate = form.cleaned_data["rate_per_second"]
            actor, may_reveal = request.user.get_username(), masked.may_reveal(request)
            job = redrives.run(plan.pk, actor=actor, rate_per_second=rate, may_reveal=may_reveal)
        except SignalboxError as error:
            form.add_error(None, str(error))
        else:
            waits = "waits for a second person" if job.is_awaiting else "is on its way"
            messages.success(request, f"Redrive {job.redrive_id} {waits}.")
            return redirect("redrive", job.redrive_id)
    return _show(request, plan, form)


def _show(request: HttpRequest, plan: Plan, form: RunForm | None) -> HttpResponse:
    rate = plan.choices.rate_per_second
    destinations = plans.destinations(plan)
    context = {
        "title": f"Plan {plan.pk}",
        "frame": Frame(request),
        "plan": plan,
        "options": plan.choices,
        "patch_text": masked.patch_text(plan.choices),
        "warnings": [*_warnings(plan), *(warning for one in destinations for warning in one.warnings)],
        "destinations": destinations,
        "samples": _samples(plan, with_payloads=roles.may_here(request, "see_payloads")),
        "runs": plan.redrives.order_by("-redrive_id")[:10],
        "form": form or RunForm(initial={"rate_per_second": rate}),
        "paces": [(pace, plan.count / pace) for pace in sorted({*PACES, rate or PACES[0]}) if plan.count],
    }
    return render(request, "redrives/plan.html", context, status=422 if form and form.errors else 200)


def _warnings(plan: Plan) -> list[str]:
    """What to think about first."""
    touched, found = plan.radius, []
    again = sum(number for _, number in touched["redriven"])
    if again:
        most = max(times for times, _ in touched["redriven"])
        often = "once" if most == 1 else f"up to {most} times"
        found.append(f"{again:,} of them were redriven before, {often}, and died again.")
    if touched["left_out"]:
        most = plan.choices.most_redrives
        found.append(f"{touched['left_out']:,} are left out: they were redriven more than {most} times.")
    if touched["conflicts"]:
        stay = "are passed over" if plan.staging_id else "stay dead"
        found.append(f"{touched['conflicts']:,} {stay}: another message holds their deduplication id now.")
    if touched.get("large_bodies_gone"):
        found.append(f"{touched['large_bodies_gone']:,} are passed over: their large body is in the store no more.")
    if touched.get("dealt_with"):
        found.append(
            f"{touched['dealt_with']:,} dead letters are left out: they are still dead here, or were sent again since."
        )
    if touched["groups"]["count"]:
        found.append(
            f"{touched['groups']['messages']:,} belong to {plural(touched['groups']['count'], 'FIFO group')}: "
            "they keep their order, one at a time, and rejoin their groups at the end."
        )
    if touched["patch"] and touched["patch"]["not_applied"]:
        tried = touched["patch"]
        found.append(
            f"The patch does not apply to {tried['not_applied']:,} of {tried['looked_at']:,}: those stay dead."
        )
    return found


@dataclass(frozen=True)
class Sample:
    """A dead letter of the plan, if it is still one; `lines` are what the patch changes, `problem` why it does not."""

    message_id: int
    source_queue: str
    died_at: object
    payload_text: str | None
    lines: Sequence[tuple[str, str]] = ()
    problem: str = ""


_SAMPLES = """
select d.dead_letter_id, d.message_id, d.source_queue, d.died_at, left(d.payload::text, 2048),
  case when d.body_sha256 is null and pg_column_size(d.payload) <= 65536 then d.payload::text end
from signalbox.dead_letter d
where d.dead_letter_id = any(%s::bigint[])
order by d.dead_letter_id desc
"""


_STAGED = """
select s.message_id, s.message_id, coalesce(s.queue, ''), s.ended_at, left(s.payload, 2048),
  case when s.body_sha256 is null and octet_length(s.payload) <= 65536 then s.payload end
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[])
order by s.message_id desc
"""


def _sample_rows(plan: Plan) -> list[tuple[Any, ...]]:
    if plan.staging_id is not None:
        return Query(_STAGED, [plan.staging_id, plan.sample_ids]).rows()
    return Query(_SAMPLES, [plan.sample_ids]).rows()


def _samples(plan: Plan, *, with_payloads: bool) -> list[Sample]:
    rows = _sample_rows(plan)
    if not with_payloads:
        return [Sample(message_id, source, died_at, None) for _, message_id, source, died_at, _, _ in rows]
    options, masking = plan.choices, Masking()
    patch = patching.read(options.patch_kind, options.patch)
    # A queue that was archived may be gone, and with it what says whose it was.
    rules = {row[0]: masking.everywhere() if plan.staging_id else masking.of_letters(row[2]) for row in rows}
    whole = {row[0]: row[5] for row in rows if row[5]}
    changed = _changed(patch, whole, rules) if patch else {}
    return [
        Sample(
            message_id,
            source,
            died_at,
            rules[letter].mask_text(text),
            *changed.get(letter, ((), "")),
        )
        for letter, message_id, source, died_at, text, _ in rows
    ]


def _changed(
    patch: Patch, texts: Mapping[int, str], rules: Mapping[int, Rules]
) -> dict[int, tuple[Sequence[tuple[str, str]], str]]:
    """For each payload what the patch changes, line by line, or why it does not apply; with the mask over both."""
    found: dict[int, tuple[Sequence[tuple[str, str]], str]] = {}
    for letter, text in texts.items():
        try:
            found[letter] = masked.difference(rules[letter], text, patch.apply(text)), ""
        except DoesNotApply as problem:
            view = rules[letter].view(decode(text))
            found[letter] = (), view.text(str(problem)) or ""
    return found


def _find(plan_id: int) -> Plan:
    plan = Plan.objects.select_related("staging").filter(plan_id=plan_id, kind=Plan.Kind.REDRIVE).first()
    if plan is None:
        raise Http404(f"There is no plan {plan_id}.")
    return plan
