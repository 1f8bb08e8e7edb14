"""Problem documents (RFC 9457), the only form in which the API refuses a request.

The type of a problem is the address of a page that explains it. Fields have their names in the API.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse

from console.api.core.names import in_wire_words, wire_field
from console.api.core.problem_types import PROBLEM_TYPES
from console.web.errors import outages
from dlq.filters import FilterError
from signalbox import errors as engine
from signalbox.logs import in_brief

CONTENT_TYPE = "application/problem+json"
MAINTENANCE_RETRY_SECONDS = 60

logger = logging.getLogger(__name__)


class Problem(Exception):  # noqa: N818 - it is the document that is sent
    """Refusal of a request.

    `kind` is the slug of its type, `errors` are pairs of a field and its error, and `members` are added to the
    document. A member `retryAfter` also becomes the header Retry-After, in whole seconds, unless it is None.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.kind = PROBLEM_TYPES[kind]
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        if (seconds := members.get("retryAfter")) is not None:
            self.headers["Retry-After"] = str(max(1, math.ceil(seconds)))
        self.members = members

    @classmethod
    def of_field(cls, field: str, detail: str, kind: str = "invalid-argument") -> Problem:
        """Make the problem of one invalid field."""
        return cls(kind, detail, errors=[(field, detail)])

    def within(self, place: str) -> Problem:
        """Return this problem with the fields moved below `place`, for one entry of a batch."""
        inside = Problem(self.kind.slug, self.detail, headers=self.headers, **self.members)
        inside.errors = [(place + field, detail) for field, detail in self.errors]
        return inside

    def document(self) -> dict[str, Any]:
        """Return the problem document."""
        document = {
            "type": f"/problems/{self.kind.slug}",
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [{"field": field, "detail": detail} for field, detail in self.errors]
        return document | self.members

    def response(self) -> HttpResponse:
        """Return the HTTP answer with the problem document."""
        text = json.dumps(self.document(), separators=(",", ":"))
        return HttpResponse(text, content_type=CONTENT_TYPE, status=self.kind.status, headers=self.headers)


def problem_of(error: Exception) -> Problem:
    """Convert an error into a problem. An unexpected error is logged, and its text is not shown."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, engine.SignalboxError):
        return _of_engine(error)
    if isinstance(error, FilterError):
        # Position and length count characters of the filter as it was sent.
        place = {"position": error.position, "length": error.length, "expected": error.expected}
        return Problem("invalid-argument", str(error), errors=[("filter", str(error))], **place)
    if (outage := outages.of(error)) is not None:
        stack = error if outage.is_ours else None
        logger.warning("an API request failed, the database is unavailable: %s", in_brief(error), exc_info=stack)
        return _of_outage(outage)
    return _unforeseen(error)


def _unforeseen(error: Exception) -> Problem:
    logger.error("an API request failed", exc_info=error)
    return Problem("internal-error", "The server failed. The error was logged.")


def _of_outage(outage: outages.Outage) -> Problem:
    """Convert an outage. Its `cause` names the outage; some causes prove that the request had no effect."""
    done = "Nothing was done." if outage.nothing_done else "The request may or may not have taken effect."
    return Problem(
        "database-away",
        f"{outage.title}. {done}",
        retryAfter=outage.retry_seconds,
        cause=outage.slug,
        nothingDone=outage.nothing_done,
    )


def _of_engine(error: engine.SignalboxError) -> Problem:
    detail = in_wire_words(str(error), getattr(error, "field", None))
    if field := _MISSING.get(type(error)):
        return Problem.of_field(field, detail, kind=f"{field}-not-found")
    match error:
        case engine.InvalidArgument():
            field = wire_field(error.field or "")
            return Problem("invalid-argument", detail, errors=[(field, detail)] if field else ())
        case engine.PayloadTooLarge():
            return Problem("payload-too-large", detail, errors=[("body", detail)])
        case engine.DeduplicationConflict():
            first = error.first_message_id
            members = {"firstMessageId": f"msg_{first}"} if first else {}
            return Problem("deduplication-conflict", detail, errors=[("deduplicationKey", detail)], **members)
        case engine.QueueInUse():
            return Problem("queue-in-use", detail, **({"messages": error.messages} if error.messages else {}))
    if refuse := _OF_TEMPORARY.get(type(error)):
        return refuse(error, detail)
    return Problem(_PLAIN[type(error)], detail) if type(error) in _PLAIN else _unforeseen(error)


#: The field that names what does not exist.
_MISSING: dict[type[engine.SignalboxError], str] = {engine.StreamNotFound: "stream", engine.GroupNotFound: "group"}
_PLAIN: dict[type[engine.SignalboxError], str] = {
    engine.QueueNotFound: "queue-not-found",
    engine.MessageNotFound: "message-not-found",
    engine.QueueClosed: "queue-closed",
    engine.StreamClosed: "stream-closed",
    engine.BodyMissing: "body-unavailable",
    engine.BodyCorrupt: "body-unavailable",
}


def _of_maintenance(error: engine.InMaintenance, detail: str) -> Problem:
    """Refuse a request during maintenance; `until` is the announced end, when the client can try again."""
    seconds = math.ceil(error.retry_after) if error.retry_after is not None else MAINTENANCE_RETRY_SECONDS
    return Problem("maintenance", detail, until=error.until, retryAfter=seconds)


def _of_move(error: engine.Moved, detail: str) -> Problem:
    """Refuse a message that another cell takes; `retryAfter` is set while none takes it."""
    facts = {"cell": error.cell, "partition": error.partition, "epoch": error.epoch, "version": error.version}
    return Problem("moved", detail, **facts, retryAfter=error.retry_after)


def _of_quota(error: engine.QuotaExceeded, detail: str) -> Problem:
    return Problem(
        "quota-exceeded",
        detail,
        reason=error.reason,
        limitName=wire_field(error.field or ""),
        limit=error.limit,
        actual=error.actual,
        retryAfter=error.retry_after,
        scope=error.scope,
    )


#: Refusals that may end by themselves, with facts of their own.
_OF_TEMPORARY: dict[type[engine.SignalboxError], Callable[[Any, str], Problem]] = {
    engine.QuotaExceeded: _of_quota,
    engine.InMaintenance: _of_maintenance,
    engine.Moved: _of_move,
}
