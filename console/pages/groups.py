"""Groups of a stream: one group's course, making one, letting it go on from another point, forgetting it."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console import feeding, group_charts, ranges
from console.frame import Frame
from console.htmx import render_page
from console.pages.streams import find as find_stream
from console.roles import requires
from console.stream_forms import DropGroupForm, GroupForm, RewindForm
from console.subjects import STREAM
from console.wording import plural
from queues import streams
from queues.errors import GroupNotFound, SignalboxError
from queues.stream_models import ConsumerGroup
from signalbox.streams import Moved


@require_safe
@requires("see_metadata", of=STREAM)
def show(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>: how far it is, partition by partition, and its lag over time."""
    found = find(name, group)
    (numbers,) = streams.read_groups([found])
    shown = ranges.of_request(request, archived=False)
    context = {
        "title": f"{group} · {name}",
        "stream": found.stream,
        "group": found,
        "fed": feeding.named(request, found.queue),
        "denied": feeding.denial(request, found),
        "numbers": numbers,
        "partitions": streams.read_partitions(found),
        "members": found.members.order_by("-lease_until", "member")[:100],
        "shown": shown,
        "charts": group_charts.draw(found, shown),
    }
    return render_page(request, "groups/show.html", "groups/_now.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def new(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /streams/<name>/new-group: make a group that reads from a point of history on."""
    stream = find_stream(name)
    form = GroupForm(request.POST if request.method == "POST" else None, queues=feeding.offered(request, stream))
    if request.method == "POST" and form.is_valid():
        given = dict(form.cleaned_data)
        given["queue"] = given["queue"] or None
        try:
            feeding.check_name(request, given["queue"])
            made = streams.create_group(name, given.pop("name"), actor=request.user.get_username(), **given)
        except SignalboxError as error:
            _blame(form, error)
        else:
            notices.success(request, f"Made the group {made.name}.")
            return redirect("group", name, made.name)
    context = {"title": f"New group · {name}", "stream": stream, "form": form, "frame": Frame(request)}
    return render(request, "groups/new.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def rewind(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>/rewind?point=: what would be read again. POST: the rewind."""
    found = find(name, group)
    feeding.check(request, found)
    form = RewindForm(request.POST if request.method == "POST" else request.GET or None)
    preview: list[Moved] = []
    if form.is_bound:
        form.full_clean()
        if request.method != "POST":
            form.errors.pop("reason", None)  # asked for with the button that does it
        if not form.errors:
            where = {"at": form.cleaned_data["at"]}
            try:
                if request.method == "POST":
                    return _rewound(request, found, form, where)
                preview = _preview(found, form.cleaned_data["point"], where)
            except SignalboxError as error:
                _blame(form, error)
    context = {
        "title": f"Rewind {group}",
        "stream": found.stream,
        "group": found,
        "form": form,
        "preview": preview,
        "again": sum(one.messages for one in preview if one.messages > 0),
        "passed": -sum(one.messages for one in preview if one.messages < 0),
        "frame": Frame(request),
    }
    return render(request, "groups/rewind.html", context, status=422 if form.errors else 200)


def _preview(found: ConsumerGroup, point: str, where: dict[str, object]) -> list[Moved]:
    return streams.preview_rewind(found.stream.name, found.name, point, **where)  # type: ignore[arg-type]


def _rewound(request: HttpRequest, found: ConsumerGroup, form: RewindForm, where: dict[str, object]) -> HttpResponse:
    moved = streams.rewind(
        found.stream.name,
        found.name,
        form.cleaned_data["point"],
        actor=request.user.get_username(),
        reason=form.cleaned_data["reason"],
        **where,
    )
    again = sum(one.messages for one in moved if one.messages > 0)
    passed = -sum(one.messages for one in moved if one.messages < 0)
    words = [f"{plural(again, 'message')} will be read again"] if again or not passed else []
    words += [f"{plural(passed, 'message')} passed over"] if passed else []
    notices.success(request, f"{found.name} goes on from there: {', '.join(words)}.")
    return redirect("group", found.stream.name, found.name)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def drop(request: HttpRequest, name: str, group: str) -> HttpResponse:
    """GET /streams/<name>/groups/<group>/drop: what is forgotten. POST: forget it."""
    found = find(name, group)
    feeding.check(request, found)
    form = DropGroupForm(request.POST if request.method == "POST" else None, name=group)
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["reason"]
        if streams.drop_group(name, group, actor=request.user.get_username(), reason=reason):
            notices.success(request, f"The group {group} is forgotten.")
        else:
            notices.warning(request, f"Nothing was changed: {group} was forgotten already.")
        return redirect("stream", name)
    (numbers,) = streams.read_groups([found])
    context = {
        "title": f"Forget {group}",
        "stream": found.stream,
        "group": found,
        "numbers": numbers,
        "form": form,
        "frame": Frame(request),
    }
    return render(request, "groups/drop.html", context, status=422 if form.errors else 200)


def find(name: str, group: str) -> ConsumerGroup:
    """The group of an address."""
    try:
        return streams.get_group(find_stream(name), group)
    except GroupNotFound as error:
        raise Http404(str(error)) from None


def _blame(form: GroupForm | RewindForm, error: SignalboxError) -> None:
    field = getattr(error, "field", None)
    form.add_error(field if field in form.fields else None, str(error))
