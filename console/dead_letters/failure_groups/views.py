"""Failure groups: dead letters by their cause; the list, one group with its numbers, and the forms for notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.charts import drawing as charts
from console.charts.drawing import Chart, Series
from console.dead_letters.failure_groups import lists as group_lists
from console.dead_letters.views import filter_bar, read_filter
from console.masking import masked
from console.pipeline import failure_findings
from console.web import refused_forms
from console.web.forms import REASON_CHARACTERS, first_mistake, refusals
from console.web.htmx import render_page
from dlq.failure_groups.models import GroupNote, head_of
from dlq.failure_groups.notes import (
    NOTE_CHARACTERS,
    OWNER_CHARACTERS,
    URL_CHARACTERS,
    describe,
    merge,
    set_state,
    split,
)
from dlq.failure_groups.reading import KEPT, FailureGroup, read_courses, read_group
from dlq.filters import Filter
from dlq.masking.rules import Masking
from dlq.search.checked_filter import check_filter
from dlq.search.dead_letter_list import dead_letters
from queues.database.names import reached_ids
from queues.errors import InvalidArgument

CHART_STEP = timedelta(hours=4)
SAMPLES = 10


class CareForm(forms.Form):
    """Owner, note and runbook of a failure group."""

    owner = forms.CharField(max_length=OWNER_CHARACTERS, required=False, help_text="A person or a team.")
    runbook_url = forms.CharField(
        label="Runbook", max_length=URL_CHARACTERS, required=False, help_text="Begins with https:// or http://."
    )
    note = forms.CharField(max_length=NOTE_CHARACTERS, required=False, widget=forms.Textarea(attrs={"rows": 4}))


class StateForm(forms.Form):
    """State of a failure group, with a reason."""

    state = forms.ChoiceField(choices=[(state, state.capitalize()) for state in GroupNote.State.values])
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class MergeForm(forms.Form):
    """A form that merges a failure group into another."""

    into = forms.CharField(
        label="Fingerprint of the other failure group",
        max_length=200,
        help_text="As its page shows it, such as v2:0123456789abcdef.",
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class SplitForm(forms.Form):
    """The fingerprint that counts by itself again."""

    fingerprint = forms.CharField(max_length=400)
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters/failure-groups: all of them, a page at a time."""
    filter, mistake = read_filter(request)
    kept = [
        (name, request.GET[name]) for name in ("sort", "state") if name in request.GET
    ]  # another filter leaves these
    context = {
        "title": "Failure groups",
        "bar": replace(filter_bar(request, mistake), action=reverse("failure_groups"), kept=kept),
        "failure_groups": group_lists.read(request, filter),
        "alone": True,
    }
    return render_page(
        request, "dead_letters/failure_groups/browse.html", "dead_letters/failure_groups/_list.html", context
    )


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """GET /dead-letters/failure-groups/<fingerprint>: one group; the address of a merged one leads to the other."""
    group = _find(request, fingerprint)
    if (head := head_of(fingerprint)) != fingerprint:
        return redirect("failure_group", head)
    filter = check_filter(Filter().with_term("fp", fingerprint), roles.reach(request.user, "see_metadata"))
    see = roles.may_here(request, "see_payloads")
    care = group.care
    context = {
        "title": f"Failure group {group.words}",
        "failure_group": masked.group(group, Masking()),
        "chart": _chart(request, group),
        "care_denied": _objection(request, group),
        "chosen": str(filter),
        "samples": masked.dead_letter_page(dead_letters(filter, size=SAMPLES, with_payloads=see)),
        "analysis": lambda: failure_findings.of_group([fingerprint, *group.members], request.user),
        **_forms(request, care),
    }
    return render_page(
        request, "dead_letters/failure_groups/show.html", "dead_letters/failure_groups/_group.html", context
    )


def _forms(request: HttpRequest, care: GroupNote | None) -> dict[str, forms.Form]:
    """Return the forms of the page; a refused form has the values that were typed."""
    known = {name: getattr(care, name) for name in CareForm.base_fields} if care else None
    return {
        "care_form": refused_forms.restore(request, CareForm) or CareForm(initial=known),
        "state_form": refused_forms.restore(request, StateForm)
        or StateForm(initial={"state": care.state if care else "open"}),
        "merge_form": refused_forms.restore(request, MergeForm) or MergeForm(),
    }


@require_POST
@requires("redrive", in_part=True)
def change(request: HttpRequest, fingerprint: str, what: str) -> HttpResponse:
    """POST .../care, state, merge, split: what people know of it, its state, and which failure group it counts in."""
    if objection := _objection(request, _find(request, fingerprint)):
        raise PermissionDenied(objection)
    kind, verb = CHANGES[what]
    form = kind(request.POST)
    if form.is_valid():
        with refusals(form):
            messages.success(request, verb(request, fingerprint, **form.cleaned_data))
            return redirect("failure_group", head_of(fingerprint))
    if what == "split":  # a button without fields
        messages.error(request, f"Nothing was changed: {first_mistake(form)}")
    return refused_forms.redirect_back(request, form, reverse("failure_group", args=[fingerprint]))


def _describe(request: HttpRequest, fingerprint: str, **values: str) -> str:
    changed = describe(fingerprint, actor=request.user.get_username(), **values)
    return "Saved." if changed else "Nothing was changed."


def _set_state(request: HttpRequest, fingerprint: str, state: str, reason: str) -> str:
    changed = set_state(fingerprint, state, actor=request.user.get_username(), reason=reason)
    return f"The failure group is {state}." if changed else f"Nothing was changed: it is {state}."


def _merge(request: HttpRequest, fingerprint: str, into: str, reason: str) -> str:
    into = into.strip()
    if not roles.reach(request.user, "redrive").is_everything and _objection(request, _find(request, into)):
        raise InvalidArgument(f"into is {into[:80]}: messages died of it in queues that your roles are not for")
    head = merge(fingerprint, into, actor=request.user.get_username(), reason=reason)
    return f"{fingerprint} was merged into {head}."


def _split(request: HttpRequest, _: str, fingerprint: str, reason: str) -> str:
    done = split(fingerprint, actor=request.user.get_username(), reason=reason)
    return f"Split {fingerprint} out of the group." if done else "Nothing was changed: it was not merged."


CHANGES: dict[str, tuple[type[forms.Form], Callable[..., str]]] = {
    "care": (CareForm, _describe),
    "state": (StateForm, _set_state),
    "merge": (MergeForm, _merge),
    "split": (SplitForm, _split),
}


def _objection(request: HttpRequest, group: FailureGroup) -> str:
    """Tell why this person may not say what concerns all of the failure group; empty when they may."""
    if reason := roles.denial_here(request, "redrive"):
        return reason
    held = roles.reach(request.user, "redrive")
    if held.is_everything:
        return ""
    if group.is_shared or not held.covers(roles.reach(request.user, "see_metadata")):
        return "Messages of this cause died in queues, too, that your roles are not for."
    return ""


def _find(request: HttpRequest, fingerprint: str) -> FailureGroup:
    group = read_group(fingerprint, roles.reach(request.user, "see_metadata"))
    if group is None:
        raise Http404(f"There is no failure group {fingerprint[:80]}.")
    return group


def _chart(request: HttpRequest, group: FailureGroup) -> Chart:
    reached = reached_ids(roles.reach(request.user, "see_metadata"))
    course = read_courses([group.fingerprint], reached, CHART_STEP, KEPT)[group.fingerprint]
    deaths = Series("deaths", "dead", [float(count) for _, count in course], filled=True)
    return charts.draw("Deaths", [moment for moment, _ in course], [deaths], subtitle="in each four hours, two weeks")
