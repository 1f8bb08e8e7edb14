"""Pages that rename a queue: preview, rename, release of an old name, and redirects from old addresses."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.http import require_http_methods, require_POST

from console.access import roles
from console.access.api_keys.models import ApiKey
from console.access.grants.models import Grant
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.overview import standings
from console.queues import head as queue_head
from console.queues.forms import DAY_SECONDS, RenameForm
from console.queues.head import QueueHead
from console.web.forms.fields import REASON_CHARACTERS, refusals, tell
from console.web.htmx import render_form
from console.web.wording import plural
from dlq.jobs import renaming
from dlq.jobs.renaming import undecided_jobs
from metrics.alerts import silences
from queues.control.renaming import free_name, name_now, old_names
from queues.counters.queue_numbers import read_numbers
from queues.models import Queue
from queues.stream_models import Stream

MAX_LISTED = 20


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/rename: show former names, and preview a new name. POST: rename the queue."""
    head = queue_head.find(name)
    given = request.POST if request.method == "POST" else request.GET
    form = RenameForm(given if "new_name" in given else None)
    if request.method == "POST" and form.is_valid():
        with refusals(form, name="new_name"):
            _rename(request, head, form)
            return redirect("queue_settings", form.cleaned_data["new_name"])
    asked = form.cleaned_data.get("new_name") if form.is_bound and (form.is_valid() or form.errors) else None
    person, administers = request.user.get_username(), roles.may(request.user, "administer")
    context = {
        "title": f"Rename · {name}",
        "head": head,
        "tab": "settings",
        "form": form,
        "found": consequences(head.queue, asked, person=person, administers=administers) if asked else None,
        "old_names": old_names(head.numbers.queue_id),
    }
    return render_form(request, "queues/renaming/show.html", context)


def _rename(request: HttpRequest, head: QueueHead, form: RenameForm) -> None:
    given, actor = form.cleaned_data, request.user.get_username()
    new_name, grace_seconds = given["new_name"], given["grace_days"] * DAY_SECONDS
    roles.check_new(request, new_name, head.queue.tenant.name)
    renaming.rename_queue(head.name, new_name, grace_seconds, actor=actor, reason=given["reason"])
    standings.forget()
    messages.success(request, f"Renamed {head.name} to {new_name}.")


@require_POST
@requires("configure", of=QUEUE)
def free(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/rename/free: release an old name of this queue for another queue."""
    head = queue_head.find(name)
    old = request.POST.get("old_name", "")
    theirs = old in {one.name for one in old_names(head.numbers.queue_id)}
    reason = request.POST.get("reason", "")[:REASON_CHARACTERS]
    freed = theirs and free_name(old, actor=request.user.get_username(), reason=reason)
    tell(request, freed, f"{old} can be used for another queue.", "this is not a former name of the queue")
    return redirect("queue_rename", name)


SAFE_METHODS = {"GET", "HEAD"}


class RenamedMiddleware(MiddlewareMixin):
    """Middleware that redirects addresses with an old name of a queue. It acts only on pages that do not exist."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Redirect to the same page under the current name of the queue, for people who may see the queue."""
        found = request.resolver_match
        if response.status_code != 404 or request.method not in SAFE_METHODS or found is None:
            return response
        name = str(found.kwargs.get("name"))
        if not request.path.startswith(f"/queues/{name}") or not request.user.is_authenticated:
            return response
        new_name = name_now(name)
        if new_name is None or not roles.may(request.user, "see_metadata", QUEUE.find(name=new_name)):
            return response
        address = reverse(found.view_name, kwargs={**found.kwargs, "name": new_name})
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(f"{address}?{query}" if query else address)


@dataclass(frozen=True)
class Consequences:
    """The consequences of a rename, in sentences. Each sentence in `in_the_way` prevents the rename."""

    in_the_way: list[str]
    follows: list[str]
    stays: list[str]
    """Things that keep the old name until a person changes them."""


def consequences(queue: Queue, new_name: str, *, person: str | None = None, administers: bool = True) -> Consequences:
    """List the consequences of a new name for the queue, with a fixed number of queries and none over messages.

    Administrators see whose access changes. Other people see the number of changes.
    """
    rights = rights_changed(queue, new_name)
    told = rights if administers or not rights else [f"access by name prefix: {plural(len(rights), 'change')}"]
    silenced = [f"silence {one.pk} ({one})" for one in silences.active() if one.queue_pattern == queue.name]
    texts = [f"{what} names {queue.name}" for what in [*renaming.filters_naming(queue.name, person), *silenced]]
    return Consequences(
        [f"{job} uses this queue: wait until it ends, or cancel it" for job in undecided_jobs(queue.name)],
        _follows(queue),
        [*_programs(queue), *told[:MAX_LISTED], *texts],
    )


def _follows(queue: Queue) -> list[str]:
    said = ["messages, leases, dead letters, history, charts, bindings and subscriptions"]
    if queue.is_dead_letter_queue:
        sources = Queue.objects.filter(dead_letter_queue_id=queue.pk).exclude(pk=queue.pk).order_by("name")
        names = list(sources.values_list("name", flat=True)[:MAX_LISTED])
        said += [f"dead_letter_queue of {name}" for name in names]
    elif queue.dead_letter_queue is None and (holder := Queue.objects.filter(pk=queue.dead_letter_queue_id).first()):
        said.append(f"dead letters stay in {holder.name}, and the settings name it")
    if masks := renaming.masks_of(queue.name):
        said.append(f"{plural(masks, 'masking rule')}, for the new name and for the old name")
    return said


def _programs(queue: Queue) -> list[str]:
    (numbers,) = read_numbers([queue.pk])
    said = []
    if numbers.consumers:
        said.append(f"{plural(numbers.consumers, 'active consumer')}: the old name works until the alias ends")
    if numbers.in_per_second:
        said.append(f"senders ({numbers.in_per_second:.1f} messages/s): the old name works until the alias ends")
    return [*said, "metrics: series continue under the new name; alert rules and dashboards may name the old one"]


def rights_changed(queue: Queue | Stream, new_name: str) -> list[str]:
    """List whose access by a prefix of names changes with the new name."""
    bounded = Q(tenant_name=None) | Q(tenant_name=queue.tenant.name)
    grants = Grant.objects.filter(bounded).exclude(queue_prefix="").select_related("person")
    keys = ApiKey.objects.filter(bounded, revoked_at=None).exclude(queue_prefix="")
    held = [(f"{one.person} as {one.role}", one.queue_prefix) for one in grants]
    held += [(f"API key {one.name}", one.queue_prefix) for one in keys]
    said = []
    for who, prefix in held:
        before, after = queue.name.startswith(prefix), new_name.startswith(prefix)
        if before != after:
            said.append(f"{who} ({prefix}*) {'loses access' if before else 'gets access'}")
    return said
