"""Pages of one consumer group: its lag, creation, settings, seek and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access.roles import requires
from console.access.subjects import STREAM
from console.charts import ranges
from console.charts.drawing import Chart, Series
from console.charts.ranges import Range
from console.charts.time_axis import TimeAxis
from console.history.charts import Past, threshold_near
from console.redrives import jobs
from console.streams import subscriptions
from console.streams.forms import GroupForm, GroupSettingsForm, SeekForm, TypedNameForm
from console.streams.views import find as find_stream
from console.web import wording
from console.web.forms.fields import refusals, tell
from console.web.htmx import render_form, render_page
from console.web.wording import plural
from dlq.discards import discards
from dlq.filters import FilterError, parse
from dlq.masking.rules import Masking
from queues.control import streams
from queues.errors import GroupNotFound, InvalidArgument
from queues.history import stream_groups
from queues.stream_models import ConsumerGroup, Stream
from signalbox.calls.consumer_groups import GroupChange, Moved


@require_safe
@requires("see_metadata", of=STREAM)
def show(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>: the offset of each partition, and the lag over time."""
    found = find(name, group)
    (numbers,) = streams.read_groups([found])
    shown = ranges.of_request(request, archived=False)
    context = {
        "title": f"{group} · {name}",
        "stream": found.stream,
        "group": found,
        "fed": subscriptions.named(request, found.queue),
        "denied": subscriptions.denial(request, found),
        "numbers": numbers,
        "skipped": streams.read_skipped(found) if found.filter else 0,
        "partitions": streams.read_partitions(found),
        "members": found.members.order_by("-lease_until", "member")[:100],
        "shown": shown,
        "charts": draw_charts(found, shown),
    }
    return render_page(request, "streams/groups/show.html", "streams/groups/_status.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def new(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /streams/<name>/new-group: create a group that reads from a chosen position."""
    stream = find_stream(name)
    form = GroupForm(request.POST if request.method == "POST" else None, queues=subscriptions.offered(request, stream))
    if form.is_valid():
        given = dict(form.cleaned_data)
        given["queue"] = given["queue"] or None
        with refusals(form):
            subscriptions.check_name(request, given["queue"])
            made = _create(stream, request.user.get_username(), **given)
            notices.success(request, f"Created the group {made.name}.")
            return redirect("group", name, made.name)
    context = {"title": f"New group · {name}", "stream": stream, "form": form}
    return render_form(request, "streams/groups/new.html", context)


@transaction.atomic
def _create(stream: Stream, actor: str, *, name: str, filter: str, **options: Any) -> ConsumerGroup:
    """Create a group and set its filter. Refuses a filter that asks for masked values."""
    _check_filter(stream.name, filter)
    group = streams.create_group(stream.name, name, actor=actor, **options)
    streams.configure_group(stream.name, name, {"filter": filter}, actor=actor)
    return group


def _check_filter(stream: str, text: str) -> None:
    """Refuse a filter that cannot be read or asks for masked values."""
    try:
        Masking().check(parse(text), stream)
    except FilterError as error:
        raise InvalidArgument(f"filter {error}", "filter") from error


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def settings(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>/settings?filter=: preview other settings. POST: save them."""
    found = find(name, group)
    subscriptions.check(request, found)
    given = request.POST if request.method == "POST" else request.GET
    form = GroupSettingsForm(given if "filter" in given else None, group=found)
    if request.method == "POST" and form.is_valid():
        with refusals(form):
            _check_filter(name, form.cleaned_data["filter"])
            actor, reason = request.user.get_username(), form.cleaned_data["reason"]
            change = streams.configure_group(name, group, form.settings(), actor=actor, reason=reason)
            tell(request, change.changed, f"Changed the settings of {group}.", "these are its settings")
            return redirect("group", name, group)
    elif form.is_bound and request.method != "POST":
        form.errors.pop("reason", None)  # required only with the button that saves
    context = {"title": f"Settings · {group}", "stream": found.stream, "group": found, "form": form}
    return render_form(request, "streams/groups/settings.html", {**context, "change": _change(form, name, group)})


def _change(form: GroupSettingsForm, name: str, group: str) -> GroupChange | None:
    """Preview a change, also while its reason is refused; None without valid settings."""
    if not form.is_bound or form.errors.keys() - {"reason"}:
        return None
    with refusals(form):
        _check_filter(name, form.cleaned_data["filter"])
        return streams.preview_group(name, group, form.settings())
    return None


@require_POST
@requires("configure", of=STREAM)
def pause(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """POST /streams/<name>/groups/<group>/pause: stop sending to the queue of a subscription."""
    return _set_paused(request, name, group, True, "Paused: its messages stay in the stream.", "It was paused already")


@require_POST
@requires("configure", of=STREAM)
def resume(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """POST /streams/<name>/groups/<group>/resume: go on with sending to the queue of a subscription."""
    return _set_paused(request, name, group, False, "Resumed: upkeep sends its messages.", "It was not paused")


def _set_paused(request: HttpRequest, name: str, group: str, paused: bool, done: str, refused: str) -> HttpResponse:
    found = find(name, group)
    subscriptions.check(request, found)
    if found.queue_id is None:
        tell(request, False, done, f"the group {group} sends to no queue")
        return redirect("group", name, group)
    change = streams.configure_group(name, group, {"paused": paused}, actor=request.user.get_username())
    tell(request, change.changed, done, refused)
    return redirect("subscriptions")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def seek(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>/seek?point=: preview a seek. POST: seek."""
    found = find(name, group)
    subscriptions.check(request, found)
    form = SeekForm(request.POST if request.method == "POST" else request.GET or None)
    if request.method == "POST" and form.is_valid():
        with refusals(form):
            actor, given = request.user.get_username(), form.cleaned_data
            preview = streams.preview_seek(name, group, given["point"], **form.place())
            if asked := discards.ask(discards.of_seek(found, preview), actor=actor, reason=given["reason"]):
                return jobs.announced(request, asked)
            moved = streams.seek(name, group, given["point"], **form.place(), actor=actor, reason=given["reason"])
            notices.success(request, f"{group} has a new position: {_said(*_moves(moved))}.")
            return redirect("group", name, group)
    elif form.is_bound and request.method != "POST":
        form.errors.pop("reason", None)  # required only with the button that seeks
    preview = _preview(form, name, group)
    again, passed = _moves(preview)
    context = {
        "title": f"Seek {group}",
        "stream": found.stream,
        "group": found,
        "form": form,
        "preview": preview,
        "again": again,
        "passed": passed,
    }
    return render_form(request, "streams/groups/seek.html", context)


def _preview(form: SeekForm, name: str, group: str) -> list[Moved]:
    """Preview the seek, also while its reason is refused; nothing without a valid position."""
    if not form.is_bound or form.errors.keys() - {"reason"}:
        return []
    with refusals(form, through_position="position"):
        return streams.preview_seek(name, group, form.cleaned_data["point"], **form.place())
    return []


def _moves(moved: Sequence[Moved]) -> tuple[int, int]:
    """Return (messages that will be read again, messages that will be skipped)."""
    return sum(max(one.messages, 0) for one in moved), -sum(min(one.messages, 0) for one in moved)


def _said(again: int, passed: int) -> str:
    words = [f"{plural(again, 'message')} will be read again"] if again or not passed else []
    return ", ".join([*words, f"{plural(passed, 'message')} skipped"] if passed else words)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def drop(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>/drop: preview the deletion of a group. POST: delete it."""
    found = find(name, group)
    subscriptions.check(request, found)
    form = TypedNameForm(request.POST if request.method == "POST" else None, name=group)
    if form.is_valid():
        dropped = streams.drop_group(name, group, actor=request.user.get_username(), reason=form.cleaned_data["reason"])
        tell(request, dropped, f"The group {group} is deleted.", f"{group} was deleted already")
        return redirect("stream", name)
    (numbers,) = streams.read_groups([found])
    context = {"title": f"Forget {group}", "stream": found.stream, "group": found, "numbers": numbers, "form": form}
    return render_form(request, "streams/groups/drop.html", context)


def find(name: str, group: str) -> ConsumerGroup:
    """Return the group of an address."""
    try:
        return streams.get_group(find_stream(name), group)
    except GroupNotFound as error:
        raise Http404(str(error)) from None


def draw_charts(group: ConsumerGroup, shown: Range) -> list[Chart]:
    """Draw the lag in messages, the lag in time with its limit, and the number of members."""
    steps = stream_groups.read(group.group_id, shown.start, shown.end, shown.step_seconds)
    while len(steps) > 1 and shown.name and steps[-1].lag_messages is None:
        steps = steps[:-1]  # the last step is not recorded yet
    axis = TimeAxis(steps[0].at, steps[-1].at, timedelta(seconds=shown.step_seconds))
    past, each = Past(steps, axis, ()), wording.span(shown.step_seconds)
    allowed, behind = group.stream.alert_group_lag_seconds, [step.lag_seconds for step in steps]
    lag = [Series("lag", "ready", [step.lag_messages for step in steps], filled=True)]
    age = [Series("age of the oldest uncommitted message", "leased", behind, filled=True)]
    words = f"limit {wording.span(allowed)}"
    members = [Series("members", "scheduled", [step.members for step in steps])]
    return [
        past.draw("Lag in messages", lag, f"maximum per {each}"),
        past.draw("Lag in time", age, words, wording.span, threshold_near(behind, allowed)),
        past.draw("Members", members, f"maximum per {each}"),
    ]
