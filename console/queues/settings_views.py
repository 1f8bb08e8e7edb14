"""Pages of a queue's settings: create a queue, change its settings with a review, close and delete it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console.access import roles, suggestions
from console.access.reauthentication import confirms
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.overview import standings
from console.queues import head as queue_head
from console.queues.forms import CloseForm, ConfigureForm, NewQueueForm, RetireForm
from console.queues.head import QueueHead
from console.queues.settings_review import Review, review
from console.web.forms.fields import refusals, suggest
from console.web.htmx import render_form, render_page
from console.web.wording import plural
from queues.control import deletion, queues
from queues.errors import InvalidArgument
from queues.models import Queue


@confirms
@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", of=QUEUE)
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /queues/<name>/settings: show the settings, review changes, and save reviewed changes."""
    head = queue_head.find(name)
    form = ConfigureForm(request.POST if request.method == "POST" else None, queue=head.queue)
    suggest(form, dead_letter_queue=suggestions.dead_letter_queue_names(request, head.queue.tenant.name))
    found = None
    if request.method == "POST":
        roles.check_here(request, "configure")
        found = _reviewed(request, head, form)
        if found is not None and _is_saved(request, head, form, found):
            return redirect("queue_settings", name)
    context = {"title": f"Settings · {name}", "form": form, "head": head, "tab": "settings"}
    if found is not None and not form.errors:
        context |= {"review": (shown := found.after(request.POST)), "mistake": shown.mistake}
    return render_form(request, "queues/settings.html", context)


def _reviewed(request: HttpRequest, head: QueueHead, form: ConfigureForm) -> Review | None:
    """Return the review of a valid form; None if the form has errors, which include the engine's refusals."""
    is_valid = form.is_valid()
    changed = {name: value for name, value in form.changes().items() if name not in form.in_broken_rules}
    with refusals(form), transaction.atomic():
        if not changed:
            return review(form, head.numbers, head.queue) if is_valid else None
        _check_holder(request, changed, head.queue.tenant.name)
        queues.configure_queue(head.name, changed, actor=request.user.get_username())
        transaction.set_rollback(True)  # only to learn what the engine refuses
    return review(form, head.numbers, head.queue) if is_valid and not form.errors else None


def _is_saved(request: HttpRequest, head: QueueHead, form: ConfigureForm, found: Review) -> bool:
    """Save changes that the person has reviewed as they are. Return whether the form is done."""
    if not found.lines:
        messages.success(request, "Nothing was changed.")
        return True
    with refusals(form), transaction.atomic():
        locked = Queue.objects.select_for_update(no_key=True).get(pk=head.queue.pk)
        if not review(form, head.numbers, locked).is_confirmed(request.POST):
            return False
        actor, reason = request.user.get_username(), form.cleaned_data["reason"]
        queues.configure_queue(head.name, found.changes, actor=actor, reason=reason)
        changed = len(found.changes)
        done = f"Changed {plural(changed, 'setting')} of {head.name}." if changed else "Nothing was changed."
        messages.success(request, done)
    standings.forget()
    return not form.errors


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET, POST /new-queue: create a queue."""
    form = NewQueueForm(request.POST if request.method == "POST" else None)
    suggest(form, tenant=suggestions.tenant_names(request, "configure"))
    if form.is_valid():
        with refusals(form):
            _create(request, form.cleaned_data["name"], form.cleaned_data["tenant"], form.changes())
            return redirect("queue", form.cleaned_data["name"])
    return render_form(request, "queues/new.html", {"title": "New queue", "form": form})


def _create(request: HttpRequest, name: str, tenant: str, changed: Mapping[str, Any]) -> None:
    if Queue.objects.filter(name=name).exists():
        raise InvalidArgument(f"The queue {name} exists already. Choose another name.", "name")
    roles.check_new(request, name, tenant)
    _check_holder(request, changed, tenant)
    queues.create_queue(name, changed, tenant=tenant, actor=request.user.get_username())
    standings.forget()
    messages.success(request, f"Created {name}.")


def _check_holder(request: HttpRequest, changed: Mapping[str, Any], tenant: str) -> None:
    """Refuse a dead-letter queue that the person may not configure."""
    holder, reach = changed.get("dead_letter_queue"), roles.reach(request.user, "configure")
    if holder and not reach.holds(holder, tenant):
        raise InvalidArgument(
            f"Your role may configure {reach} only, and not {holder}. Name another queue.", "dead_letter_queue"
        )


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def retire(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/retire: show the remaining steps. POST: delete the queue, which must be empty and unused."""
    head = queue_head.find(name)
    form = RetireForm(request.POST if request.method == "POST" else None, name=name)
    if form.is_valid():
        with refusals(form):
            deletion.delete_queue(name, actor=request.user.get_username(), reason=form.cleaned_data["reason"])
            standings.forget()
            messages.success(request, f"Deleted {name}.")
            return redirect("overview")
    return _show_retirement(request, head, form, CloseForm())


def _show_retirement(request: HttpRequest, head: QueueHead, form: RetireForm, close_form: CloseForm) -> HttpResponse:
    """Show the three steps, each with its form."""
    context = {"title": f"Retire · {head.name}", "head": head, "tab": "settings", "mistake": close_form.errors}
    everything = {**context, "form": form, "close_form": close_form, "obstacle": deletion.obstacle(head.name)}
    return render_page(request, "queues/retirement/show.html", "queues/retirement/_steps.html", everything)


@require_POST
@requires("configure", of=QUEUE)
def set_closed(request: HttpRequest, name: str, closed: bool) -> HttpResponse:
    """POST /queues/<name>/close, open: refuse sends from now on, with a reason; or accept them again."""
    head = queue_head.find(name)
    form = CloseForm(request.POST) if closed else None
    if form is not None and not form.is_valid():
        return _show_retirement(request, head, RetireForm(name=name), form)
    reason = form.cleaned_data["reason"] if form else ""
    queues.configure_queue(name, {"closed": closed}, actor=request.user.get_username(), reason=reason)
    standings.forget()
    messages.success(request, f"{name} refuses sends." if closed else f"{name} accepts messages again.")
    return redirect("queue_retire", name)
