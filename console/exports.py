"""Exports as answers: streamed, whichever kind of server asks, and ended when nobody listens any more."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from console import reached_audit
from dlq.exporting import Bound, Document, Export, Format, Row, Source
from queues.models import AuditEvent
from queues.reach import Reach

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
        """Called by Django with the answer, in that thread, also when the client has gone away."""
        self._export.close()


def answer(request: HttpRequest, source: Source, form: Format, name: str) -> StreamingHttpResponse:
    """The file. What it may hold at most is in its head, and in its last line when it was cut."""
    bound = Bound.of()
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


def audit_events(events: QuerySet[AuditEvent], filter_text: str, reach: Reach) -> Source:
    """The audit, the newest first: only ever added to, and so a walk down its ids misses nothing."""
    return Source("audit", filter_text, AUDIT_COLUMNS, _event_batches(events, reach))


def _event_batches(events: QuerySet[AuditEvent], reach: Reach) -> Iterator[Sequence[Row]]:
    below: dict[str, Any] = {}
    while batch := list(events.filter(**below).order_by("-audit_event_id")[:BATCH_ROWS]):
        yield [_event(event) for event in reached_audit.told(batch, reach)]
        below = {"audit_event_id__lt": batch[-1].audit_event_id}


def _event(event: AuditEvent) -> Row:
    return {
        "audit_event_id": event.audit_event_id,
        "at": event.at,
        "actor": event.actor,
        "action": event.action,
        "queue": event.queue_name or None,
        "reason": event.reason or None,
        "details": Document(json.dumps(event.details, ensure_ascii=False)),
    }
