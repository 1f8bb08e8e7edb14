"""Renaming a queue: what it would change, the page, an old name set free, and redirects from old addresses."""

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
from console.web.forms import REASON_CHARACTERS, refusals, tell
from console.web.htmx import render_form
from console.web.wording import plural
from dlq.jobs import renaming
from dlq.jobs.renaming import undecided_jobs
from metrics.alerts import silences
from queues.control.renaming import free_name, name_now, old_names
from queues.counters.queue_numbers import read_numbers
from queues.models import Queue

MAX_LISTED = 20


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=QUEUE)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/rename: the names it had, and what one that is given would change. POST: rename it."""
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
    messages.success(request, f"{head.name} is called {new_name}.")


@require_POST
@requires("configure", of=QUEUE)
def free(request: HttpRequest, name: str) -> HttpResponse:
    """POST /queues/<name>/rename/free: an old name of this queue means nothing any longer."""
    head = queue_head.find(name)
    old = request.POST.get("old_name", "")
    theirs = old in {one.name for one in old_names(head.numbers.queue_id)}
    reason = request.POST.get("reason", "")[:REASON_CHARACTERS]
    freed = theirs and free_name(old, actor=request.user.get_username(), reason=reason)
    tell(request, freed, f"{old} is free for another queue.", "that is no old name of this queue")
    return redirect("queue_rename", name)


SAFE_METHODS = {"GET", "HEAD"}


class RenamedMiddleware(MiddlewareMixin):
    """Redirects addresses with an old name of a queue; looks only where there was no such page."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Redirect to the same page of the queue as it is called now, for people who may see it."""
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
    """The consequences of a rename, in sentences. With something in the way it is refused."""

    in_the_way: list[str]
    follows: list[str]
    stays: list[str]
    """Things that go on saying the old name, for a person to change."""


def consequences(queue: Queue, new_name: str, *, person: str | None = None, administers: bool = True) -> Consequences:
    """List the consequences of giving the queue this name; a fixed number of queries, none over messages.

    Whose rights change is named for who administers; for others, how many do.
    """
    rights = _rights(queue, new_name)
    told = rights if administers or not rights else [f"rights by prefix: {plural(len(rights), 'change')}"]
    silenced = [f"silence {one.pk} ({one})" for one in silences.active() if one.queue_pattern == queue.name]
    texts = [f"{what} says {queue.name}" for what in [*renaming.filters_naming(queue.name, person), *silenced]]
    return Consequences(
        [f"{job} names it: wait for its end, or cancel it" for job in undecided_jobs(queue.name)],
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
        said.append(f"its dead letters stay in {holder.name}, and its settings name this queue")
    if masks := renaming.masks_of(queue.name):
        said.append(f"{plural(masks, 'mask')} of payload fields, for the new name and for the old")
    return said


def _programs(queue: Queue) -> list[str]:
    (numbers,) = read_numbers([queue.pk])
    said = []
    if numbers.consumers:
        said.append(f"{plural(numbers.consumers, 'consumer')} of the last minute, by the old name as long as it works")
    if numbers.in_per_second:
        said.append(f"senders of {numbers.in_per_second:.1f} messages a second, by the old name as long as it works")
    return [*said, "metrics: the old name's series end and the new one's begin; rules and dashboards may name it"]


def _rights(queue: Queue, new_name: str) -> list[str]:
    bounded = Q(tenant_name=None) | Q(tenant_name=queue.tenant.name)
    grants = Grant.objects.filter(bounded).exclude(queue_prefix="").select_related("person")
    keys = ApiKey.objects.filter(bounded, revoked_at=None).exclude(queue_prefix="")
    held = [(f"{one.person} as {one.role}", one.queue_prefix) for one in grants]
    held += [(f"API key {one.name}", one.queue_prefix) for one in keys]
    said = []
    for who, prefix in held:
        before, after = queue.name.startswith(prefix), new_name.startswith(prefix)
        if before != after:
            said.append(f"{who} ({prefix}*) {'no longer reaches' if before else 'now reaches'} it")
    return said
