"""Pages of streams: the list, worst lag first, and one stream with its groups and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from console.access import roles, suggestions
from console.access.roles import requires
from console.access.subjects import STREAM
from console.messages.downloads import large_body_file
from console.streams import subscriptions
from console.streams.forms import STREAM_SETTINGS, AppendForm, StreamForm, StreamSettingsForm
from console.web import pagination
from console.web.forms.fields import refusals, suggest
from console.web.forms.reviews import Review, review
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from console.web.wording import plural
from dlq.discards import discards
from dlq.masking.masks import MASK, Rules
from dlq.masking.rules import Masking
from dlq.search.pages import Page, PagePosition, page_of
from queues.control import streams
from queues.control.streams import GroupNumbers, StoredMessage
from queues.errors import StreamNotFound
from queues.models import AuditEvent
from queues.stream_models import Stream


@dataclass(frozen=True)
class StreamRow:
    """A stream in the list, with its groups, worst first."""

    stream: Stream
    appended: int
    groups: Sequence[GroupNumbers]

    @property
    def lag_seconds(self) -> float:
        return max((group.lag_seconds for group in self.groups), default=0.0)

    @property
    def lag_messages(self) -> int:
        return max((group.lag_messages for group in self.groups), default=0)


COLUMNS: Columns[StreamRow] = {
    "stream": lambda row: row.stream.name,
    "partitions": lambda row: row.stream.partitions,
    "appended": lambda row: row.appended,
    "groups": lambda row: len(row.groups),
    "lag": lambda row: row.lag_messages,
    "lag_time": lambda row: row.lag_seconds,
}
GROUP_COLUMNS: Columns[GroupNumbers] = {
    "group": lambda numbers: numbers.group.name,
    "lag": lambda numbers: numbers.lag_messages,
    "lag_time": lambda numbers: numbers.lag_seconds,
    "lost": lambda numbers: numbers.lost,
    "members": lambda numbers: numbers.members,
    "committed": lambda numbers: numbers.committed_at,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /streams: list streams, the largest lag first."""
    known = streams.read_streams()
    reach = roles.reach(request.user, "see_metadata")
    rows = [
        StreamRow(stream, appended, _of(stream, known.groups))
        for stream, appended in known.appended
        if reach.holds(stream.name, stream.tenant.name)
    ]
    rows.sort(key=lambda row: (-row.lag_seconds, -row.lag_messages, row.stream.name))
    fed = {subscriptions.named(request, one.group.queue) for row in rows for one in row.groups}
    shown = arrange(request, rows, COLUMNS)
    context = {"title": "Streams", "rows": shown.rows, "sort": shown.links, "fed": fed}
    return render_page(request, "streams/browse.html", "streams/_list.html", context)


def _of(stream: Stream, groups: Sequence[GroupNumbers]) -> list[GroupNumbers]:
    own = [numbers for numbers in groups if numbers.group.stream_id == stream.stream_id]
    return sorted(own, key=lambda numbers: (-numbers.lag_seconds, -numbers.lag_messages, numbers.group.name))


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", in_part=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET, POST /new-stream: create a stream."""
    form = StreamForm(request.POST if request.method == "POST" else None)
    suggest(form, tenant=suggestions.tenant_names(request, "configure"))
    if form.is_valid():
        given = dict(form.cleaned_data)
        name, tenant = given.pop("name"), given.pop("tenant")
        with refusals(form):
            roles.check_new(request, name, tenant or "default")
            made = streams.create_stream(name, given, tenant=tenant, actor=request.user.get_username())
            notices.success(request, f"Created the stream {made.name}.")
            return redirect("stream", made.name)
    context = {"title": "New stream", "form": form}
    return render_form(request, "streams/new.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("configure", of=STREAM)
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /streams/<name>/settings: retention and limits of a stream."""
    stream = find(name)
    form = StreamSettingsForm(request.POST if request.method == "POST" else None, stream=stream)
    found = None
    if form.is_valid():
        with refusals(form):
            found = _save(request, stream, form)
            if found is None:
                return redirect("stream", name)
    context = {"title": f"Settings · {name}", "stream": stream, "form": form, "review": found}
    return render_form(request, "streams/settings.html", {**context, "mistake": found and found.mistake})


@transaction.atomic
def _save(request: HttpRequest, stream: Stream, form: StreamSettingsForm) -> Review | None:
    """Save settings that the person has reviewed as they are. Return the review that is still to be confirmed."""
    locked = Stream.objects.select_for_update(no_key=True).get(pk=stream.pk)
    now = {name: getattr(locked, name) for name in STREAM_SETTINGS}
    found = review(form, now, AuditEvent.objects.filter(details__stream=stream.name))
    if not found.is_confirmed(request.POST):
        return replace(found.after(request.POST), warnings=_warnings(stream.name, found.changes))
    changes, actor = found.changes, request.user.get_username()
    discard = discards.of_settings(locked, changes)
    if asked := discards.ask(discard, actor=actor, reason=form.cleaned_data["reason"]):
        notices.success(request, f"Nothing is changed yet: {asked} awaits approval.")
        return None
    streams.configure_stream(stream.name, changes, actor=actor, reason=form.cleaned_data["reason"])
    done = f"Changed {plural(len(changes), 'setting')} of {stream.name}." if changes else "Nothing was changed."
    notices.success(request, done)
    return None


def _warnings(name: str, changes: Mapping[str, Any]) -> list[str]:
    """Say what more partitions would do to keys and groups."""
    if "partitions" not in changes:
        return []
    preview = streams.preview_partitions(name, changes["partitions"])
    moved = f"New messages of {preview.moved_keys:.0%} of the keys will go to another partition than the old ones."
    if not preview.unread:
        return [moved, "The groups have read all messages."]
    unread = f"The groups have not read {plural(preview.unread, 'message')} yet, and may read new messages of a key"
    order = "To keep the order, close the stream, wait until the lag is 0, and then add partitions."
    return [moved, f"{unread} before its old ones. {order}"]


@require_http_methods(["GET", "HEAD", "POST"])
@requires("send", of=STREAM)
def append(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /streams/<name>/append: append one message by hand."""
    stream = find(name)
    form = AppendForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusals(form):
            place = streams.append(name, actor=request.user.get_username(), **form.cleaned_data)
            notices.success(request, f"The message is at position {place.position} of partition {place.partition}.")
            return redirect("stream", name)
    context = {"title": f"Append · {name}", "stream": stream, "form": form}
    return render_form(request, "streams/append.html", context)


@require_safe
@requires("see_metadata", of=STREAM)
def show(request: HttpRequest, name: str) -> HttpResponse:
    """GET /streams/<name>: the groups of a stream and their lag."""
    stream = find(name)
    groups = streams.read_groups(list(stream.groups.select_related("stream__tenant", "queue__tenant")))
    fed = {subscriptions.named(request, one.group.queue) for one in groups}
    shown = arrange(request, _of(stream, groups), GROUP_COLUMNS)
    listed = {"groups": shown.rows, "sort": shown.links, "fed": fed}
    counted = {"kept_bytes": streams.read_bytes(stream), "deduplicated": streams.count_deduplicated(stream)}
    context = {"title": name, "stream": stream, "tab": "groups", **listed, **counted}
    return render_page(request, "streams/show.html", "streams/_groups.html", context)


@require_safe
@requires("see_payloads", of=STREAM)
def messages(request: HttpRequest, name: str) -> HttpResponse:
    """GET /streams/<name>/messages?partition=: the messages of one partition, newest first, in pages."""
    stream, asked = find(name), request.GET.get("partition", "")
    chosen = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 4 else 0
    partition = chosen if chosen < stream.partitions else 0  # an invalid partition in the address shows the first
    page = _page(stream, partition, pagination.place(request), pagination.size(request))
    context = {
        "title": f"Messages · {name}",
        "stream": stream,
        "tab": "messages",
        "partition": partition,
        "partitions": range(stream.partitions),
        "page": page,
        "pager": pagination.pager(request, page, f"{len(page.rows)} shown"),
    }
    return render_page(request, "streams/show.html", "streams/_messages.html", context)


def _page(stream: Stream, partition: int, at: PagePosition, size: int) -> Page[StoredMessage]:
    """Return a page of one partition with one query, at the same cost for deep pages."""
    before, after = pagination.whole(at.before), pagination.whole(at.after)
    rules = Masking().of(stream.name)
    found = streams.browse(stream, partition, above=before, below=after, most=size + 1)
    rows = [
        replace(one, key=_shown_key(rules, one), payload_text=rules.mask_text(one.payload_text) or "") for one in found
    ]
    place = PagePosition(
        at.before if before is not None else "", at.after if before is None and after is not None else ""
    )
    return page_of(rows, size, place, [str(row.position) for row in rows])


def _shown_key(rules: Rules, message: StoredMessage) -> str | None:
    """Mask a key that repeats a masked value of its payload, or may: where the payload is shortened or a large body."""
    if message.key is None or not rules.payload:
        return message.key
    try:
        shown = json.loads(message.payload_text)
    except (ValueError, RecursionError):
        return MASK
    return MASK if message.large or message.key in rules.values(shown) else message.key


@require_safe
@requires("see_payloads", of=STREAM)
def download_body(request: HttpRequest, name: str, partition: int, position: int) -> HttpResponse:
    """GET /streams/<name>/bodies/<partition>/<position>: a large body as a file, if its hash is right."""
    found = streams.read_large_body(find(name), partition, position)
    if found is None:
        raise Http404(f"Position {position} of partition {partition} of {name} has no large body, or it was dropped.")
    return large_body_file(*found, Masking().of(name), f"{name}-{partition}-{position}")


def find(name: str) -> Stream:
    """Return the stream of an address."""
    try:
        return streams.get_stream(name)
    except StreamNotFound as error:
        raise Http404(str(error)) from None
