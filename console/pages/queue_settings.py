"""A queue's settings: changing them, and choosing them for a queue to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console import fleet, queue_head, roles
from console.confirming import confirms
from console.forms import ConfigureForm, NewQueueForm, SettingsForm
from console.frame import Frame
from console.roles import requires
from console.subjects import QUEUE
from console.wording import plural
from queues import control
from queues.errors import InvalidArgument, SignalboxError
from queues.models import Queue


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", of=QUEUE)
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /queues/<name>/settings: everybody may look, who may configure can change."""
    head = queue_head.find(name)
    form = ConfigureForm(request.POST if request.method == "POST" else None, queue=head.queue)
    if request.method == "POST":
        roles.check_here(request, "configure")
        if form.is_valid() and _configure(request, head.queue, form):
            return redirect("queue_settings", name)
    return _render(request, "queues/settings.html", f"Settings · {name}", form, head=head, tab="settings")


def _configure(request: HttpRequest, queue: Queue, form: ConfigureForm) -> bool:
    """Change what differs from what was shown; False, with the form saying why, when refused."""
    changed = form.changes()
    actor = request.user.get_username()
    try:
        _check_holder(request, changed, queue.tenant.name)
        control.configure_queue(queue.name, changed, actor=actor, reason=form.cleaned_data["reason"])
    except SignalboxError as error:
        _put(form, error)
        return False
    fleet.forget()
    done = f"Changed {plural(len(changed), 'setting')} of {queue.name}." if changed else "Nothing was changed."
    messages.success(request, done)
    return True


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET, POST /new-queue: make a queue."""
    form = NewQueueForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _create(request, form):
        return redirect("queue", form.cleaned_data["name"])
    return _render(request, "queues/new.html", "New queue", form)


def _create(request: HttpRequest, form: NewQueueForm) -> bool:
    name = form.cleaned_data["name"]
    if Queue.objects.filter(name=name).exists():
        form.add_error("name", "There is a queue of this name.")
        return False
    actor = request.user.get_username()
    try:
        roles.check_new(request, name, form.cleaned_data["tenant"])
        _check_holder(request, form.changes(), form.cleaned_data["tenant"])
        control.create_queue(name, form.changes(), tenant=form.cleaned_data["tenant"], actor=actor)
    except SignalboxError as error:
        _put(form, error)
        return False
    fleet.forget()
    messages.success(request, f"Created {name}.")
    return True


def _check_holder(request: HttpRequest, changed: Mapping[str, Any], tenant: str) -> None:
    """Refuse dead letters to go where the person may not look after them."""
    holder, reach = changed.get("dead_letter_queue"), roles.reach(request.user, "configure")
    if holder and not reach.holds(holder, tenant):
        raise InvalidArgument(
            f"dead_letter_queue is {holder}: your role may configure {reach} alone", "dead_letter_queue"
        )


def _put(form: SettingsForm, error: SignalboxError) -> None:
    """The engine's refusal, at the field it names."""
    field = getattr(error, "field", None)
    form.add_error(field if field in form.fields else None, str(error))


def _render(request: HttpRequest, page: str, title: str, form: SettingsForm, **more: object) -> HttpResponse:
    context = {"title": title, "form": form, "frame": Frame(request), **more}
    return render(request, page, context, status=422 if form.errors else 200)
