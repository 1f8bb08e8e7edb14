"""Pages of failure groups: the list, one group with its numbers, and the forms of its triage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.charts import drawing as charts
from console.charts.drawing import Chart, Series
from console.dead_letters.failure_groups import lists as group_lists
from console.dead_letters.failure_groups.activity import Action, read_activity
from console.dead_letters.failure_groups.forms import (
    CareForm,
    CommentForm,
    DeleteCommentForm,
    EndSnoozeForm,
    MergeForm,
    SnoozeForm,
    SplitForm,
    StateForm,
)
from console.dead_letters.views import filter_bar, read_filter
from console.masking import masked
from console.pipeline import failure_findings
from console.web.forms import refused
from console.web.forms.fields import refusals
from console.web.htmx import render_page
from console.web.wording import span
from dlq.failure_groups.models import GroupNote, head_of
from dlq.failure_groups.notes import comment, comments_of, delete_comment, describe, merge, set_state, snooze, split
from dlq.failure_groups.reading import KEPT, FailureGroup, read_courses, read_group
from dlq.filters import Filter
from dlq.masking.rules import Masking
from dlq.search.checked_filter import check_filter
from dlq.search.dead_letter_list import dead_letters
from queues.database.names import reached_ids
from queues.errors import InvalidArgument

CHARTS = [  # (length of one step, length of the whole chart)
    (timedelta(minutes=10), timedelta(hours=2)),
    (timedelta(minutes=10), timedelta(hours=12)),
    (timedelta(hours=1), timedelta(days=2)),
    (timedelta(hours=4), KEPT),
]
SAMPLES = 10
MAX_PEOPLE = 200
VERBS_OF_ROWS = {
    "merge": "Merge groups",
    "split": "Split out",
    "end_snooze": "End snooze",
    "delete_comment": "Delete comment",
}
"""Verbs without a form on the group's own page: a refused form gets a page of its own, with this button."""
TRIAGE = ("owner", "runbook_url", "note")


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters/failure-groups: all failure groups, a page at a time."""
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
    group = find_group(request, fingerprint)
    if (head := head_of(fingerprint)) != fingerprint:
        return redirect("failure_group", head)
    filter = check_filter(Filter().with_term("fp", fingerprint), roles.reach(request.user, "see_metadata"))
    see = roles.may_here(request, "see_payloads")
    care = group.care
    context = {
        "title": f"Failure group {group.words}",
        "failure_group": masked.group(group, Masking()),
        "chart": _chart(request, group),
        "care_denied": objection(request, group),
        "chosen": str(filter),
        "samples": masked.dead_letter_page(dead_letters(filter, size=SAMPLES, with_payloads=see)),
        "analysis": lambda: failure_findings.of_group([fingerprint, *group.members], request.user),
        **_forms(request, care),
        "comments": [] if group.is_shared else comments_of([fingerprint, *group.members]),
        "activity": [] if group.is_shared else _activity(request, [fingerprint, *group.members], str(filter)),
        "address": request.build_absolute_uri(request.path),
        "people": _people(request),
    }
    return render_page(
        request, "dead_letters/failure_groups/show.html", "dead_letters/failure_groups/_group.html", context
    )


def _activity(request: HttpRequest, fingerprints: Sequence[str], filter_text: str) -> Sequence[Action]:
    return read_activity(fingerprints, filter_text, roles.reach(request.user, "see_metadata"))


def _forms(request: HttpRequest, care: GroupNote | None) -> dict[str, Form]:
    """Return the forms of the page; a refused form has the values that were typed."""
    known = {name: getattr(care, name) for name in TRIAGE} if care else None
    return {
        "care_form": refused.restore(request, CareForm, known) or CareForm(initial=known),
        "state_form": refused.restore(request, StateForm)
        or StateForm(initial={"state": care.state if care else "open"}),
        "snooze_form": refused.restore(request, SnoozeForm) or SnoozeForm(),
        "comment_form": refused.restore(request, CommentForm) or CommentForm(),
    }


@require_POST
@requires("redrive", in_part=True)
def change(request: HttpRequest, fingerprint: str, what: str) -> HttpResponse:
    """POST .../care, state, merge, split: triage notes, state, and the failure group in which it is counted."""
    if denial := objection(request, find_group(request, fingerprint)):
        raise PermissionDenied(denial)
    kind, verb = CHANGES[what]
    form = kind(request.POST)
    if form.is_valid():
        with refusals(form):
            messages.success(request, verb(request, fingerprint, **form.cleaned_data))
            return redirect("failure_group", head_of(fingerprint))
    page = reverse("failure_group", args=[fingerprint])
    if what in VERBS_OF_ROWS:
        return refused.show(request, form, title=VERBS_OF_ROWS[what], verb=VERBS_OF_ROWS[what], page=page)
    return refused.redirect_back(request, form, page)


def _people(request: HttpRequest) -> list[str]:
    """List the people who can own a group, by name; a person with grants only is offered their own name."""
    if roles.is_scoped(request.user):
        return [request.user.get_username()]
    people = get_user_model().objects.filter(is_active=True).order_by("username")
    return list(people.values_list("username", flat=True)[:MAX_PEOPLE])


def _describe(
    request: HttpRequest, fingerprint: str, *, assign_to_me: bool, shown: dict[str, str | None], **values: str
) -> str:
    if assign_to_me:
        values["owner"] = request.user.get_username()
    values = _with_changes_of_others(fingerprint, values, shown)
    changed = describe(fingerprint, actor=request.user.get_username(), **values)
    return "Saved." if changed else "Nothing was changed."


def _with_changes_of_others(fingerprint: str, typed: dict[str, str], shown: dict[str, str | None]) -> dict[str, str]:
    """Return the values to save, with changes that others made since the page was opened.

    Raises `InvalidArgument` if this person and another person changed the same value.
    """
    saved = GroupNote.objects.filter(fingerprint=fingerprint).values(*TRIAGE).first() or dict.fromkeys(TRIAGE, "")
    values = dict(typed)
    for name, value in typed.items():
        before, now = shown[name], saved[name]
        if before is None or _lines(before) == _lines(now):
            continue
        if _lines(value) == _lines(before):
            values[name] = now
        elif _lines(value) != _lines(now):
            words = f"Another person changed this to “{now}” after you opened the page. Save again to replace it."
            raise InvalidArgument(words, name)
    return values


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _set_state(request: HttpRequest, fingerprint: str, state: str, reason: str) -> str:
    changed = set_state(fingerprint, state, actor=request.user.get_username(), reason=reason)
    return f"The failure group is {state}." if changed else f"Nothing was changed: it is {state}."


def _snooze(request: HttpRequest, fingerprint: str, until: datetime | None, failures: int | None, reason: str) -> str:
    snooze(fingerprint, until=until, failures=failures, actor=request.user.get_username(), reason=reason)
    return "The failure group is snoozed."


def _end_snooze(request: HttpRequest, fingerprint: str, reason: str) -> str:
    ended = snooze(fingerprint, actor=request.user.get_username(), reason=reason)
    return "The snooze has ended." if ended else "Nothing was changed: the failure group is not snoozed."


def _comment(request: HttpRequest, fingerprint: str, text: str) -> str:
    comment(fingerprint, text, actor=request.user.get_username())
    return "Comment added."


def _delete_comment(request: HttpRequest, fingerprint: str, comment_id: int) -> str:
    of_group = [fingerprint, *find_group(request, fingerprint).members]
    deleted = delete_comment(of_group, comment_id, actor=request.user.get_username())
    return "Comment deleted." if deleted else "Nothing was changed: only its author can delete a comment."


def _merge(request: HttpRequest, fingerprint: str, into: str, reason: str) -> str:
    into = into.strip()
    if not roles.reach(request.user, "redrive").is_everything and objection(request, find_group(request, into)):
        raise InvalidArgument(f"failure group {into[:80]} also has messages in queues that your roles do not include")
    head = merge(fingerprint, into, actor=request.user.get_username(), reason=reason)
    return f"{fingerprint} was merged into {head}."


def _split(request: HttpRequest, _: str, fingerprint: str, reason: str) -> str:
    done = split(fingerprint, actor=request.user.get_username(), reason=reason)
    return f"Split {fingerprint} out of the group." if done else "Nothing was changed: it was not merged."


CHANGES: dict[str, tuple[type[Form], Callable[..., str]]] = {
    "care": (CareForm, _describe),
    "state": (StateForm, _set_state),
    "snooze": (SnoozeForm, _snooze),
    "end_snooze": (EndSnoozeForm, _end_snooze),
    "comment": (CommentForm, _comment),
    "delete_comment": (DeleteCommentForm, _delete_comment),
    "merge": (MergeForm, _merge),
    "split": (SplitForm, _split),
}


def objection(request: HttpRequest, group: FailureGroup) -> str:
    """Say why this person may not change the failure group, which concerns all its queues; empty if they may."""
    if reason := roles.denial_here(request, "redrive"):
        return reason
    held = roles.reach(request.user, "redrive")
    if held.is_everything:
        return ""
    if group.is_shared or not held.covers(roles.reach(request.user, "see_metadata")):
        return "This failure group also has messages in queues that your roles do not include."
    return ""


def find_group(request: HttpRequest, fingerprint: str) -> FailureGroup:
    """Find a failure group within the reach of the person, or answer 404."""
    group = read_group(fingerprint, roles.reach(request.user, "see_metadata"))
    if group is None:
        raise Http404(f"There is no failure group {fingerprint[:80]}.")
    return group


def _chart(request: HttpRequest, group: FailureGroup) -> Chart:
    """Draw the failures since the first one, in the shortest chart that shows them all."""
    since = datetime.now(UTC) - group.first_seen
    step, whole = next((chart for chart in CHARTS if chart[1] > since), CHARTS[-1])
    reached = reached_ids(roles.reach(request.user, "see_metadata"))
    course = read_courses([group.fingerprint], reached, step, whole)[group.fingerprint]
    failures = Series("failures", "dead", [float(count) for _, count in course], filled=True)
    subtitle = f"per {span(step.total_seconds())}, last {span(whole.total_seconds())}"
    return charts.draw("Failures", [moment for moment, _ in course], [failures], subtitle=subtitle)
