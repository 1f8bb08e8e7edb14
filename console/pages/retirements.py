"""A queue that is no longer needed: closed, drained, deleted, each step when somebody says so and looks."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from console import fleet, queue_head
from console.forms import RetireForm
from console.frame import Frame
from console.htmx import render_page
from console.queue_head import QueueHead
from console.roles import requires
from console.subjects import QUEUE
from queues import control, deleting
from queues.errors import SignalboxError


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/retire: what is left to do. POST: delete the queue, which must be empty and unused."""
    head = queue_head.find(name)
    form = RetireForm(request.POST if request.method == "POST" else None, name=name)
    if request.method == "POST" and form.is_valid() and _delete(request, head, form):
        return redirect("overview")
    context = {
        "title": f"Retire · {name}",
        "frame": Frame(request),
        "head": head,
        "tab": "settings",
        "form": form,
        "obstacle": deleting.obstacle(name),
    }
    if form.errors:
        return render(request, "retirements/show.html", context, status=422)
    return render_page(request, "retirements/show.html", "retirements/_steps.html", context)


def _delete(request: HttpRequest, head: QueueHead, form: RetireForm) -> bool:
    try:
        deleting.delete_queue(head.name, actor=request.user.get_username(), reason=form.cleaned_data["reason"])
    except SignalboxError as error:
        form.add_error(None, str(error))
        return False
    fleet.forget()
    messages.success(request, f"Deleted {head.name}.")
    return True


@require_POST
@requires("configure", of=QUEUE)
def close(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/close: it takes no more messages, and hands out what it has."""
    return _set_closed(request, name, True, f"{name} takes no more messages.")


@require_POST
@requires("configure", of=QUEUE)
def reopen(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/open: it takes messages again."""
    return _set_closed(request, name, False, f"{name} takes messages again.")


def _set_closed(request: HttpRequest, name: str, closed: bool, done: str) -> HttpResponse:
    head = queue_head.find(name)
    reason = request.POST.get("reason", "")[:500]
    control.configure_queue(head.name, {"closed": closed}, actor=request.user.get_username(), reason=reason)
    fleet.forget()
    messages.success(request, done)
    return redirect("queue_retire", name)
