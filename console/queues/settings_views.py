"""A queue's settings: choosing them for a queue to be, changing them, and retiring the queue step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console.access import roles
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.overview import standings
from console.queues import head as queue_head
from console.queues.forms import ConfigureForm, NewQueueForm, RetireForm
from console.web.forms import REASON_CHARACTERS, refusals
from console.web.htmx import render_form, render_page
from console.web.wording import plural
from queues.control import deletion, queues
from queues.errors import InvalidArgument
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
        if form.is_valid():
            with refusals(form):
                _configure(request, head.queue, form)
                return redirect("queue_settings", name)
    context = {"title": f"Settings · {name}", "form": form, "head": head, "tab": "settings"}
    return render_form(request, "queues/settings.html", context)


def _configure(request: HttpRequest, queue: Queue, form: ConfigureForm) -> None:
    """Change what differs from what was shown."""
    changed, actor = form.changes(), request.user.get_username()
    _check_holder(request, changed, queue.tenant.name)
    queues.configure_queue(queue.name, changed, actor=actor, reason=form.cleaned_data["reason"])
    standings.forget()
    done = f"Changed {plural(len(changed), 'setting')} of {queue.name}." if changed else "Nothing was changed."
    messages.success(request, done)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET, POST /new-queue: make a queue."""
    form = NewQueueForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusals(form):
            _create(request, form.cleaned_data["name"], form.cleaned_data["tenant"], form.changes())
            return redirect("queue", form.cleaned_data["name"])
    return render_form(request, "queues/new.html", {"title": "New queue", "form": form})


def _create(request: HttpRequest, name: str, tenant: str, changed: Mapping[str, Any]) -> None:
    if Queue.objects.filter(name=name).exists():
        raise InvalidArgument("There is a queue of this name.", "name")
    roles.check_new(request, name, tenant)
    _check_holder(request, changed, tenant)
    queues.create_queue(name, changed, tenant=tenant, actor=request.user.get_username())
    standings.forget()
    messages.success(request, f"Created {name}.")


def _check_holder(request: HttpRequest, changed: Mapping[str, Any], tenant: str) -> None:
    """Refuse dead letters to go where the person may not look after them."""
    holder, reach = changed.get("dead_letter_queue"), roles.reach(request.user, "configure")
    if holder and not reach.holds(holder, tenant):
        raise InvalidArgument(
            f"dead_letter_queue is {holder}: your role may configure {reach} alone", "dead_letter_queue"
        )


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def retire(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/retire: what is left to do. POST: delete the queue, which must be empty and unused."""
    head = queue_head.find(name)
    form = RetireForm(request.POST if request.method == "POST" else None, name=name)
    if form.is_valid():
        with refusals(form):
            deletion.delete_queue(name, actor=request.user.get_username(), reason=form.cleaned_data["reason"])
            standings.forget()
            messages.success(request, f"Deleted {name}.")
            return redirect("overview")
    obstacle = deletion.obstacle(name)
    context = {"title": f"Retire · {name}", "head": head, "tab": "settings", "form": form, "obstacle": obstacle}
    return render_page(request, "queues/retirement/show.html", "queues/retirement/_steps.html", context)


@require_POST
@requires("configure", of=QUEUE)
def set_closed(request: HttpRequest, name: str, closed: bool) -> HttpResponse:
    """POST /queues/<name>/close, open: it takes no more messages, and hands out what it has; or takes them again."""
    queue_head.find(name)
    reason = request.POST.get("reason", "")[:REASON_CHARACTERS]
    queues.configure_queue(name, {"closed": closed}, actor=request.user.get_username(), reason=reason)
    standings.forget()
    messages.success(request, f"{name} accepts no more messages." if closed else f"{name} accepts messages again.")
    return redirect("queue_retire", name)
