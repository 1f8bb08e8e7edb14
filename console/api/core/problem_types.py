"""All types of problems: status, title, and advice. Pages, documents and answers read this list."""

from __future__ import annotations

from typing import NamedTuple


class _Words(NamedTuple):
    title: str
    advice: str


class ProblemType(NamedTuple):
    """One type of problem."""

    slug: str
    status: int
    title: str
    advice: str


_BY_STATUS: dict[int, dict[str, _Words]] = {
    400: {
        "unreadable-body": _Words(
            "The body is not JSON",
            "The detail says where reading stopped. JSON has no NaN, no Infinity and no comments. Each name occurs "
            "once in an object. Text is UTF-8.",
        ),
        "unreadable-request": _Words(
            "The request cannot be read", "The address or a header is not valid text, or is too long."
        ),
    },
    401: {
        "unauthorized": _Words(
            "No valid API key",
            "Send `Authorization: Bearer KEY` with a key that has not expired and was not revoked. A key is shown "
            "once, when it is created. Replace a lost key.",
        ),
    },
    403: {
        "https-required": _Words(
            "Only over HTTPS",
            "This installation accepts API keys only over HTTPS. Others may have read the key that was sent: "
            "replace it.",
        ),
        "scope-lacking": _Words(
            "The key may not do this",
            "The detail names the missing scope. Create a key with this scope, or use another key.",
        ),
        "approval-required": _Words(
            "A second person must approve this",
            "Ask for it in the console: it waits there until another admin approves it.",
        ),
        "out-of-reach": _Words(
            "Beyond what the key reaches",
            "A key of a tenant can create queues of that tenant only. A key with a prefix can create queues, and "
            "name dead-letter queues, whose names begin with the prefix.",
        ),
    },
    404: {
        "not-found": _Words("No such address", "docs/use/http-api.md and /v1/docs have the list of calls."),
        "queue-not-found": _Words(
            "No such queue",
            "The queue does not exist, or this key does not reach it: it belongs to another tenant, or its name "
            "lacks the key's prefix.",
        ),
        "stream-not-found": _Words(
            "No such stream",
            "The stream does not exist, or this key does not reach it: it belongs to another tenant, or its name "
            "lacks the key's prefix.",
        ),
        "group-not-found": _Words("No such consumer group", "The stream has no consumer group of this name."),
        "message-not-found": _Words(
            "No such message",
            "This queue has no message with this id: it never existed, or its retention ended.",
        ),
        "job-not-found": _Words(
            "No such job", "The job does not exist, or it touches queues that this key does not reach."
        ),
    },
    405: {
        "method-not-allowed": _Words("Not with this method", "The header Allow has the methods of this address."),
    },
    409: {
        "lease-lost": _Words(
            "The lease is no longer held",
            "The lease expired, another call completed or failed the message, or the message left the queue. The "
            "message is delivered again: drop this delivery's work, or make sure that doing it twice is harmless.",
        ),
        "deduplication-conflict": _Words(
            "Another message has this deduplication key",
            "`firstMessageId`, or the message at the place in `detail`, was sent with this key and another body. Give "
            "another message another key.",
        ),
        "queue-exists": _Words(
            "A queue of this name exists with other settings",
            "Change it with PATCH, or take another name.",
        ),
        "stream-exists": _Words(
            "A stream of this name exists with other settings",
            "Change it with PATCH, or take another name.",
        ),
        "stream-closed": _Words("The stream is closed", "It can be read and accepts no messages."),
        "queue-in-use": _Words(
            "The queue is in use",
            "Only an empty queue can be deleted. `messages` has its numbers of messages: receive, redrive or purge "
            "them first.",
        ),
        "no-dead-letter-queue": _Words(
            "This queue holds no dead letters",
            "Redrive the dead-letter queue. `deadLetterQueue` of the source queue names it.",
        ),
        "not-reached": _Words(
            "The key does not reach all messages of this queue",
            "A key with a prefix receives only dead letters whose source queues have the prefix. Use a key without "
            "a prefix.",
        ),
        "wrong-state": _Words("The job's state does not allow this", "`state` has the current state."),
        "purge-outdated": _Words(
            "The queue has more messages than the plan",
            "Request a new purge plan and send its numbers. `actual` has the current numbers.",
        ),
        "queue-closed": _Words("The queue is closed", "It delivers its messages and accepts no new ones."),
        "request-in-progress": _Words(
            "The same request is in progress",
            "Another request with this Idempotency-Key has not ended yet. Try again in a moment to get its answer.",
        ),
    },
    413: {
        "payload-too-large": _Words(
            "Too large",
            "Split the request, store the payload elsewhere and send its address, or raise the limit: the queue's "
            "maxPayloadBytes, or API_MAX_BODY_BYTES for a whole request.",
        ),
    },
    415: {
        "unsupported-media-type": _Words("The body must be JSON", "Send `Content-Type: application/json`."),
    },
    421: {
        "moved": _Words(
            "Another cell takes this message",
            "The request had no effect. Send it to the cell that `cell` names. While no cell takes the message, send "
            "the request again after Retry-After.",
        ),
    },
    422: {
        "invalid-argument": _Words(
            "A field is invalid", "`errors` names each invalid field as it was sent, and its error."
        ),
        "idempotency-key-reused": _Words(
            "This Idempotency-Key belongs to another request",
            "It was used with another body or address. Use a new key for each new request.",
        ),
    },
    429: {
        "quota-exceeded": _Words(
            "A limit would be exceeded",
            "The request had no effect. `limitName`, `limit` and `actual` name the limit. Wait for Retry-After; "
            "without that header the request can never fit.",
        ),
        "rate-exceeded": _Words(
            "The key exceeds its rate limit", ("Wait for Retry-After, or raise the key's rate limit.")
        ),
        "too-many-connections": _Words(
            "The key has too many concurrent requests", ("Send fewer requests at a time, or raise the key's limit.")
        ),
    },
    500: {
        "internal-error": _Words("The server failed", "The error was logged. Ask an operator."),
    },
    503: {
        "body-unavailable": _Words(
            "A large payload cannot be read", ("The store of large bodies does not have this payload now.")
        ),
        "maintenance": _Words(
            "The installation is under maintenance",
            "The request had no effect. The detail names the administrator and the reason, `until` the announced "
            "end. Try again after Retry-After.",
        ),
        "database-away": _Words(
            "The database is unavailable",
            "Try again after Retry-After; an Idempotency-Key or a deduplicationKey prevents a second send.",
        ),
    },
}

PROBLEM_TYPES: dict[str, ProblemType] = {
    slug: ProblemType(slug, status, *words) for status, kinds in _BY_STATUS.items() for slug, words in kinds.items()
}
"""By slug."""
