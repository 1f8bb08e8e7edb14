"""Problem documents (RFC 9457) as the errors of the client, with Python's names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signalbox.calls.request import number_in
from signalbox.calls.wire_names import argument_of, snake
from signalbox.errors import (
    BodyMissing,
    DeduplicationConflict,
    Forbidden,
    GroupNotFound,
    InMaintenance,
    InvalidArgument,
    MessageNotFound,
    Moved,
    PayloadTooLarge,
    QueueClosed,
    QueueInUse,
    QueueNotFound,
    QuotaExceeded,
    RateLimited,
    ServerUnavailable,
    SignalboxError,
    StreamClosed,
    StreamNotFound,
    Unauthorized,
    WrongIsolation,
)

#: A function that makes the error for a problem; it takes the Python names of the document's fields.
_Build = Callable[[Mapping[str, Any], Mapping[str, str]], Exception]


def slug_of(problem: Mapping[str, Any]) -> str:
    """Read the kind of a problem: the last word of its type."""
    return str(problem.get("type", "")).rstrip("/").rpartition("/")[2]


def error_of(problem: Mapping[str, Any], names: Mapping[str, str]) -> Exception:
    """Make the error for a problem by its type, or by its status where the type is unknown."""
    make_error = _BY_SLUG.get(slug_of(problem)) or _BY_STATUS.get(int(problem.get("status", 0)), _refused)
    return make_error(problem, names)


def raise_first_refusal(results: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> None:
    """Raise the first refusal in a batch that is sent whole or not at all."""
    for index, result in enumerate(results):
        if result["status"] == "rejected":
            raise error_of(_within_batch(result["error"], index), names)


def _within_batch(problem: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    faults = [{**fault, "field": f"messages[{index}].{fault['field']}"} for fault in problem.get("errors") or ()]
    return {**problem, "errors": faults}


def _text_of(problem: Mapping[str, Any]) -> str:
    return str(problem.get("detail") or problem.get("title") or "")


def _field(problem: Mapping[str, Any]) -> tuple[str | None, str]:
    """The name of the wrong field in the HTTP document, and the description of its fault."""
    for fault in problem.get("errors") or ():
        return fault.get("field"), str(fault.get("detail") or _text_of(problem))
    return None, _text_of(problem)


def _invalid_argument(problem: Mapping[str, Any], names: Mapping[str, str]) -> InvalidArgument:
    field, text = _field(problem)
    if field is None:
        return InvalidArgument(text)
    argument = argument_of(field, names)
    rest = text.removeprefix(field).removeprefix(field.rpartition(".")[2]).removeprefix(argument.partition("[")[0])
    return InvalidArgument(f"{argument} {rest.lstrip()}" if rest != text else f"{argument}: {text}", field=argument)


def _quota_exceeded(problem: Mapping[str, Any], _: Mapping[str, str]) -> QuotaExceeded:
    limit_name = problem.get("limitName")
    return QuotaExceeded(
        _text_of(problem),
        reason=str(problem.get("reason", "")),
        limit=float(problem.get("limit") or 0.0),
        actual=float(problem.get("actual") or 0.0),
        retry_after=problem.get("retryAfter"),
        field=snake(limit_name) if limit_name else None,
        scope=str(problem.get("scope", "queue")),
    )


def _deduplication_conflict(problem: Mapping[str, Any], _: Mapping[str, str]) -> DeduplicationConflict:
    first = problem.get("firstMessageId")
    return DeduplicationConflict(_text_of(problem), first_message_id=None if first is None else number_in(first))


def _moved(problem: Mapping[str, Any], _: Mapping[str, str]) -> Moved:
    facts = {name: problem.get(name) for name in ("cell", "partition", "epoch")}
    return Moved(
        _text_of(problem), version=int(problem.get("version") or 0), retry_after=problem.get("retryAfter"), **facts
    )


def _rate_limited(problem: Mapping[str, Any], _: Mapping[str, str]) -> RateLimited:
    return RateLimited(_text_of(problem), retry_after=problem.get("retryAfter"))


def _unavailable(problem: Mapping[str, Any], _: Mapping[str, str]) -> ServerUnavailable:
    error = ServerUnavailable(_text_of(problem), str(problem.get("cause") or ""))
    error.retry_after = problem.get("retryAfter")
    return error


def _refused(problem: Mapping[str, Any], _: Mapping[str, str]) -> SignalboxError:
    return SignalboxError(f"{problem.get('status')} {problem.get('title') or ''}: {_text_of(problem)}")


def _plain(kind: type[Exception]) -> _Build:
    return lambda problem, _: kind(_text_of(problem))


_BY_SLUG: dict[str, _Build] = {
    "queue-not-found": _plain(QueueNotFound),
    "message-not-found": _plain(MessageNotFound),
    "invalid-argument": _invalid_argument,
    "queue-exists": _invalid_argument,
    "payload-too-large": _plain(PayloadTooLarge),
    "deduplication-conflict": _deduplication_conflict,
    "moved": _moved,
    "queue-closed": _plain(QueueClosed),
    "stream-not-found": _plain(StreamNotFound),
    "group-not-found": _plain(GroupNotFound),
    "stream-exists": _invalid_argument,
    "stream-closed": _plain(StreamClosed),
    "queue-in-use": _plain(QueueInUse),
    "maintenance": lambda problem, _: InMaintenance(_text_of(problem), problem.get("until"), problem.get("retryAfter")),
    "wrong-isolation": _plain(WrongIsolation),
    "quota-exceeded": _quota_exceeded,
    "rate-exceeded": _rate_limited,
    "too-many-connections": _rate_limited,
    "request-in-progress": _plain(ServerUnavailable),  # the first attempt has not ended
    "unauthorized": _plain(Unauthorized),
    "scope-lacking": _plain(Forbidden),
    "https-required": _plain(Forbidden),
    "approval-required": _plain(Forbidden),
    "body-unavailable": _plain(BodyMissing),
}
_BY_STATUS: dict[int, _Build] = {
    400: _invalid_argument,
    401: _plain(Unauthorized),
    403: _plain(Forbidden),
    413: _plain(PayloadTooLarge),
    422: _invalid_argument,
    429: _rate_limited,
    **dict.fromkeys((500, 502, 503, 504), _unavailable),
}
