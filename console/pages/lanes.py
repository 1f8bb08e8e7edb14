"""A queue's lanes: which groups wait, for whom, and how many of each may be under way."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import queue_head
from console.forms import LaneLimitForm
from console.htmx import render_page
from console.keyset import Pager
from console.roles import requires
from console.subjects import QUEUE
from console.wording import plural
from dlq.browse import PAGE_ROWS
from queues import control
from queues.errors import SignalboxError
from queues.lanes import read_lanes

MOST_GROUP_CHARACTERS = 200


@require_safe
@requires("see_metadata", of=QUEUE)
def browse(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/lanes: its lanes by group, or the one that is asked for."""
    head = queue_head.find(name)
    group = request.GET.get("group", "")[:MOST_GROUP_CHARACTERS]
    after = request.GET.get("after")
    after = after[:MOST_GROUP_CHARACTERS] if after is not None else None
    found = read_lanes(head.numbers.queue_id, after, PAGE_ROWS + 1, group or None)
    lanes = found[:PAGE_ROWS]
    context = {
        "title": f"Lanes · {name}",
        "head": head,
        "tab": "lanes",
        "lanes": lanes,
        "group": group,
        "limit": head.queue.group_limit,
        "later": after is not None,
        "pager": _pager(request, [lane.group_id for lane in lanes], len(found) > PAGE_ROWS),
    }
    return render_page(request, "queues/lanes.html", "queues/_lanes.html", context)


@require_POST
@requires("configure", of=QUEUE)
def limit(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/lanes/limit: a limit of its own for one group; an empty one is taken back."""
    queue_head.find(name)
    form = LaneLimitForm(request.POST)
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        messages.error(request, f"Nothing was changed: {form.fields[field].label}: {errors[0]}")
    else:
        _limit_lane(request, name, form)
    return redirect("queue_lanes", name)


def _limit_lane(request: HttpRequest, name: str, form: LaneLimitForm) -> None:
    group, most = form.cleaned_data["group_id"], form.cleaned_data["max_in_flight"]
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    try:
        control.limit_lane(name, group, most, actor=actor, reason=reason)
    except SignalboxError as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return
    done = f"{plural(most, 'message')} at once" if most else "the queue's limit again"
    messages.success(request, f"The group {group} has {done}.")


def _pager(request: HttpRequest, groups: list[str], more: bool) -> Pager:
    """Lanes are walked forward only."""
    following = f"{request.path}?{urlencode({'after': groups[-1]})}" if more else ""
    return Pager(plural(len(groups), "lane") + " shown", "", following)
