"""Another name for a queue: what that would change, doing it, and letting go of a name that nobody uses any more."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from console import fleet, queue_head, renaming, roles
from console.frame import Frame
from console.queue_head import QueueHead
from console.rename_form import RenameForm
from console.roles import requires
from console.subjects import QUEUE
from dlq.renaming import rename_queue
from queues.errors import SignalboxError
from queues.renaming import free_name, old_names


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/rename: the names it had, and what one that is given would change. POST: rename it."""
    head = queue_head.find(name)
    given = request.POST if request.method == "POST" else request.GET
    form = RenameForm(given if "new_name" in given else None)
    if request.method == "POST" and form.is_valid() and _rename(request, head, form):
        return redirect("queue_settings", form.cleaned_data["new_name"])
    asked = form.cleaned_data.get("new_name") if form.is_bound and (form.is_valid() or form.errors) else None
    person, administers = request.user.get_username(), roles.may(request.user, "administer")
    context = {
        "title": f"Rename · {name}",
        "frame": Frame(request),
        "head": head,
        "tab": "settings",
        "form": form,
        "found": renaming.consequences(head.queue, asked, person=person, administers=administers) if asked else None,
        "old_names": old_names(head.numbers.queue_id),
    }
    return render(request, "renames/show.html", context, status=422 if form.errors else 200)


def _rename(request: HttpRequest, head: QueueHead, form: RenameForm) -> bool:
    """False, with the form saying why, when refused."""
    new_name, actor = form.cleaned_data["new_name"], request.user.get_username()
    try:
        roles.check_new(request, new_name, head.queue.tenant.name)
        rename_queue(head.name, new_name, form.grace_seconds, actor=actor, reason=form.cleaned_data["reason"])
    except SignalboxError as error:
        field = getattr(error, "field", None)
        form.add_error({"name": "new_name"}.get(field, field) if field in {"name", *form.fields} else None, str(error))
        return False
    fleet.forget()
    messages.success(request, f"{head.name} is called {new_name}.")
    return True


@require_POST
@requires("configure", of=QUEUE)
def free(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/rename/free: an old name of this queue means nothing any longer."""
    head = queue_head.find(name)
    old = request.POST.get("old_name", "")
    theirs = old in {one.name for one in old_names(head.numbers.queue_id)}
    if theirs and free_name(old, actor=request.user.get_username(), reason=request.POST.get("reason", "")[:500]):
        messages.success(request, f"{old} is free: another queue may have that name.")
    else:
        messages.warning(request, "Nothing was changed: that is no old name of this queue.")
    return redirect("queue_rename", name)
