"""Merging of failure groups: picking the other group, and a preview of what is counted together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.dead_letters.failure_groups.views import find_group, objection
from console.masking import masked
from console.web.htmx import render_form
from dlq.failure_groups.models import head_of
from dlq.failure_groups.reading import FailureGroup, read_group
from dlq.failure_groups.similar import Similar, similar_groups
from dlq.masking.rules import Masking


@dataclass(frozen=True)
class MergePreview:
    """Numbers of two groups that would be counted as one, `into`."""

    into: FailureGroup
    dead: int
    deaths: int
    died_last_day: int
    queues: list[str]
    fingerprints: int


@require_safe
@requires("redrive", in_part=True)
def choose(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """GET .../merge/preview: likely groups to pick from; with ?into= the numbers after the merge."""
    if (head := head_of(fingerprint)) != fingerprint:
        return redirect("failure_group_merge_preview", head)
    group = find_group(request, fingerprint)
    if denial := objection(request, group):
        raise PermissionDenied(denial)
    typed = (request.GET.get("other", "").strip() or request.GET.get("into", "").strip())[:200]
    preview, mistake = _preview(request, group, typed) if typed else (None, "")
    masking = Masking()
    context = {
        "title": f"Merge failure group {group.words}",
        "failure_group": masked.group(group, masking),
        "similar": _shown(similar_groups(group, roles.reach(request.user, "see_metadata")), masking),
        "typed": typed,
        "preview": preview,
        "merge_mistake": mistake,
    }
    return render_form(request, "dead_letters/failure_groups/merge.html", context, 422 if mistake else 200)


def _shown(found: Similar, masking: Masking) -> list[tuple[str, list[FailureGroup]]]:
    shown: Callable[[FailureGroup], FailureGroup] = lambda one: masked.group(one, masking)  # noqa: E731
    kinds = {"Same error class": found.same_class, "Same queue": found.same_queue}
    return [(label, [shown(one) for one in groups]) for label, groups in kinds.items() if groups]


def _preview(request: HttpRequest, group: FailureGroup, typed: str) -> tuple[MergePreview | None, str]:
    """Add up the numbers of both groups; or say why they cannot be merged."""
    other = read_group(head_of(typed), roles.reach(request.user, "see_metadata"))
    if other is None:
        return None, f"There is no failure group {typed[:80]}. Copy the fingerprint from the page of the group."
    if other.fingerprint == group.fingerprint:
        return None, "This is the same failure group. Pick another group."
    if denial := objection(request, other):
        return None, denial
    return _together(group, masked.group(other, Masking())), ""


def _together(group: FailureGroup, into: FailureGroup) -> MergePreview:
    both = (group, into)
    return MergePreview(
        into,
        sum(one.dead for one in both),
        sum(one.deaths for one in both),
        sum(one.died_last_day for one in both),
        sorted({source.queue for one in both for source in one.sources if source.queue}),
        sum(len(one.members) + 1 for one in both),
    )
