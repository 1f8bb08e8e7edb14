"""Pages that rename a stream, and that delete one: a preview, then a reason, and for a deletion the typed name."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.roles import requires
from console.access.subjects import STREAM
from console.queues.renaming_views import MAX_LISTED, rights_changed
from console.redrives import jobs
from console.streams.forms import RenameForm, TypedNameForm
from console.streams.views import find
from console.web.forms.fields import refusals
from console.web.htmx import render_form
from console.web.wording import plural
from dlq.discards import discards
from queues.control import streams
from queues.control.streams import GroupNumbers
from queues.stream_models import Stream


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def rename(request: HttpRequest, name: str) -> HttpResponse:
    """GET /streams/<name>/rename?new_name=: preview another name. POST: rename the stream."""
    stream, given = find(name), request.POST if request.method == "POST" else request.GET
    form = RenameForm(given if "new_name" in given else None)
    if request.method == "POST" and form.is_valid():
        new_name, actor = form.cleaned_data["new_name"], request.user.get_username()
        with refusals(form, name="new_name"):
            roles.check_new(request, new_name, stream.tenant.name)
            streams.rename_stream(name, new_name, actor=actor, reason=form.cleaned_data["reason"])
            notices.success(request, f"Renamed {name} to {new_name}.")
            return redirect("stream", new_name)
    if form.is_bound and request.method != "POST":
        form.errors.pop("reason", None)  # required only with the button that renames
    asked = form.cleaned_data.get("new_name") if form.is_bound else None
    stays = stays_of(stream, asked, roles.may(request.user, "administer")) if asked else []
    context = {"title": f"Rename · {name}", "stream": stream, "form": form, "asked": asked, "stays": stays}
    return render_form(request, "streams/rename.html", context)


def stays_of(stream: Stream, new_name: str, administers: bool) -> list[str]:
    """List what keeps the old name until a person changes it."""
    rights = rights_changed(stream, new_name)
    told = rights if administers or not rights else [f"access by name prefix: {plural(len(rights), 'change')}"]
    members = sum(group.members for group in streams.read_groups(list(stream.groups.all())))
    said = ["programs that append: the old name is refused at once"]
    said += [f"{plural(members, 'member')} that read now: the old name is refused at once"] if members else []
    return [*said, "metrics: series continue under the new name; alert rules may name the old one", *told[:MAX_LISTED]]


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """GET /streams/<name>/delete: preview the deletion of a stream. POST: delete it."""
    stream = find(name)
    loss = find_loss(stream)
    form = TypedNameForm(request.POST if request.method == "POST" else None, name=name)
    if form.is_valid():
        with refusals(form, name="typed_name"):
            told = {"actor": request.user.get_username(), "reason": form.cleaned_data["reason"]}
            if not loss.obstacle and (asked := discards.ask(discards.of_deletion(stream), **told)):
                return jobs.announced(request, asked)
            streams.delete_stream(name, **told)
            notices.success(request, f"The stream {name} is deleted.")
            return redirect("streams")
    context = {"title": f"Delete · {name}", "stream": stream, "form": form, "loss": loss}
    return render_form(request, "streams/delete.html", context)


@dataclass(frozen=True)
class Loss:
    """The contents that a deletion would delete, and the obstacle to it; empty when there is none."""

    positions: int
    groups: list[GroupNumbers]
    obstacle: str


def find_loss(stream: Stream) -> Loss:
    """Find what a deletion of the stream would delete, and the obstacle to it."""
    groups = streams.read_groups(list(stream.groups.select_related("stream")))
    return Loss(discards.kept(stream), groups, streams.obstacle(stream))
