"""Export of lists of messages, dead letters and audit rows as files, with the filter of the list."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.administration import audit
from console.filters.filter_bar import dead_letter_filter, message_filter, typed
from console.queues import head as queue_head
from dlq.export import rows
from dlq.export.files import Bound, Document, Export, Format, Row, Source
from dlq.filters import FilterError
from dlq.search.message_list import TARGETS
from queues.messages.lists import State
from queues.models import AuditEvent
from queues.reach import Reach


@require_GET
@requires("see_metadata", in_part=True)
def dead_letters(request: HttpRequest) -> HttpResponseBase:
    """GET /exports/dead-letters?q=&format=: every dead letter that the filter selects; a mistake leads to the list."""
    try:
        filter = dead_letter_filter(request, typed(request))
        source = rows.dead_letters(filter, see_payloads=roles.may_here(request, "see_payloads"))
    except FilterError:
        return redirect(f"{reverse('dead_letters')}?{urlencode({'q': typed(request)})}")
    return answer(request, source, "dead-letters")


@require_GET
@requires("see_metadata", of=QUEUE)
def messages(request: HttpRequest, name: str) -> HttpResponseBase:
    """GET /exports/messages/<queue>?state=&q=&format=: the messages of one state that the filter selects."""
    head = queue_head.find(name)
    asked = request.GET.get("state", "")
    state = State(asked) if asked in set(State) else State.READY
    try:
        filter = message_filter(request, typed(request), name, TARGETS[state])
        see = roles.may_here(request, "see_payloads")
        source = rows.messages(head.queue, filter, state, see_payloads=see)
    except FilterError:
        query = urlencode({"state": state.value, "q": typed(request)})
        return redirect(f"{reverse('queue_messages', args=[name])}?{query}")
    return answer(request, source, f"{name}-{state.value}")


@require_GET
@requires("see_metadata", in_part=True)
def audit_events(request: HttpRequest) -> HttpResponseBase:
    """GET /exports/audit?q=&format=: every action that the filter selects."""
    reach = roles.reach(request.user, "see_metadata")
    events, mistake = audit.select(audit.within(AuditEvent.objects.all(), reach), typed(request))
    if mistake:
        return redirect(f"{reverse('audit')}?{urlencode({'q': typed(request)})}")
    source = Source("audit", typed(request), AUDIT_COLUMNS, _event_batches(events, reach))
    return answer(request, source, "audit")


AUDIT_COLUMNS = ("audit_event_id", "at", "actor", "action", "queue", "reason", "details")
BATCH_ROWS = 500


class Chunks:
    """An export for an asynchronous server: each chunk is made in the thread that has the request's connection."""

    def __init__(self, export: Export) -> None:
        self._export = export

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await sync_to_async(next)(self._export, None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    def close(self) -> None:
        """Close the source. Django calls it with the answer, in that thread, also when the client has gone away."""
        self._export.close()


def answer(request: HttpRequest, source: Source, name: str) -> StreamingHttpResponse:
    """Return the file; its header has the maximum of rows, and the last line of a truncated file says so."""
    bound, form = Bound.of(), Format.CSV if request.GET.get("format") == Format.CSV else Format.NDJSON
    export = Export(source, form, bound, request.user.get_username())
    chunks = Chunks(export) if isinstance(request, ASGIRequest) else export
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return StreamingHttpResponse(
        chunks,
        content_type=form.content_type,
        headers={
            "Content-Disposition": f'attachment; filename="{name}-{moment}.{form.value}"',
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            "X-Signalbox-Row-Limit": str(bound.rows),
            "X-Signalbox-Byte-Limit": str(bound.bytes),
        },
    )


def _event_batches(events: QuerySet[AuditEvent], reach: Reach) -> Iterator[Sequence[Row]]:
    """Read rows by descending id; rows are only added, so none is missed."""
    below: dict[str, Any] = {}
    while batch := list(events.filter(**below).order_by("-audit_event_id")[:BATCH_ROWS]):
        yield [_event(event) for event in audit.visible_events(batch, reach)]
        below = {"audit_event_id__lt": batch[-1].audit_event_id}


def _event(event: AuditEvent) -> Row:
    details = Document(json.dumps(event.details, ensure_ascii=False))
    queue, reason = event.queue_name or None, event.reason or None
    values = (event.audit_event_id, event.at, event.actor, event.action, queue, reason, details)
    return dict(zip(AUDIT_COLUMNS, values, strict=True))
