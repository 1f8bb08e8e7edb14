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
            "The detail says where reading stopped. JSON has no NaN, no Infinity and no comments; a name may stand "
            "once in an object; text is UTF-8.",
        ),
        "unreadable-request": _Words(
            "The request cannot be read", "Its address or a header is not text, or is too long."
        ),
    },
    401: {
        "unauthorized": _Words(
            "No valid API key",
            "Send `Authorization: Bearer KEY` with a key that has not expired and was not revoked. A key is shown "
            "once, when it is made; a lost one is replaced.",
        ),
    },
    403: {
        "https-required": _Words(
            "Only over HTTPS",
            "This installation accepts API keys over HTTPS alone. Take the key that was sent for known to others: "
            "replace it.",
        ),
        "scope-lacking": _Words(
            "The key may not do this",
            "The detail names the scope that is missing. Make a key that has it, or use another one.",
        ),
        "out-of-reach": _Words(
            "Beyond what the key reaches",
            "A key of a tenant makes queues of that tenant, and one with a prefix makes queues, and names dead-letter "
            "queues, that begin with it.",
        ),
    },
    404: {
        "not-found": _Words("No such address", "docs/use/http-api.md and /v1/docs have the list of calls."),
        "queue-not-found": _Words(
            "No such queue",
            "The queue does not exist, or it is none that this key can reach: of another tenant, or outside the key's "
            "prefix.",
        ),
        "message-not-found": _Words(
            "No such message",
            "Nothing is known of this message in this queue: it never was, or its retention is over.",
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
            "Its deadline has passed, the message was settled by another call, or it was taken out of the queue. The "
            "message is, or was, delivered again: drop this delivery's work or make sure that doing it twice is "
            "harmless.",
        ),
        "deduplication-conflict": _Words(
            "Another message has this deduplication key",
            "`firstMessageId` was sent with this key and another body. Give another message another key.",
        ),
        "queue-exists": _Words(
            "A queue of this name exists with other settings",
            "Change it with PATCH, or take another name.",
        ),
        "queue-in-use": _Words(
            "The queue is in use",
            "Only a queue without messages is deleted. `messages` has what it holds: receive, redrive or purge it "
            "first.",
        ),
        "no-dead-letter-queue": _Words(
            "This queue holds no dead letters",
            "Redrive the queue that keeps them: `deadLetterQueue` of the queue that they died in names it.",
        ),
        "not-reached": _Words(
            "The key does not reach what is in there",
            "A key with a prefix takes of a dead-letter queue what died in queues within its prefix. Use one without.",
        ),
        "wrong-state": _Words("The job is not in a state for this", "`state` has the state that it is in."),
        "purge-outdated": _Words(
            "The queue holds more than was looked at",
            "Ask for a purge plan again, and send what it says; `actual` has what there is now.",
        ),
        "queue-closed": _Words("The queue is closed", "It delivers its messages and accepts no new ones."),
        "request-in-progress": _Words(
            "The same request is under way",
            "Another request with this Idempotency-Key has not ended yet. Try again in a moment: it then answers as "
            "the first one did.",
        ),
    },
    413: {
        "payload-too-large": _Words(
            "Too large",
            "Split what was sent, put it elsewhere and send where it is, or raise the limit: the queue's "
            "maxPayloadBytes, or API_MAX_BODY_BYTES for a whole request.",
        ),
    },
    415: {
        "unsupported-media-type": _Words("The body must be JSON", "Send `Content-Type: application/json`."),
    },
    422: {
        "invalid-argument": _Words(
            "A field is invalid", "`errors` names each field as it was sent, and what is wrong."
        ),
        "idempotency-key-reused": _Words(
            "This Idempotency-Key belongs to another request",
            "It was used with another body or address. Each request that is not a repetition needs a key of its own.",
        ),
    },
    429: {
        "quota-exceeded": _Words(
            "A limit would be exceeded",
            "Nothing was done. `limitName`, `limit` and `actual` say which; wait for Retry-After, where there is one: "
            "without it the request would never fit.",
        ),
        "rate-exceeded": _Words("The key is used too fast", "Wait for Retry-After, or give the key more."),
        "too-many-connections": _Words("The key waits too often", "Fewer requests at a time, or a key for more."),
    },
    500: {
        "internal-error": _Words("An error on this side", "It has been logged, and is for the operators."),
    },
    503: {
        "body-unavailable": _Words("A large payload cannot be read", "The store of large bodies does not have it now."),
        "maintenance": _Words(
            "The installation is under maintenance",
            "Nothing was done. The detail says who and why, `until` when it was announced to end; try again after "
            "Retry-After.",
        ),
        "database-away": _Words(
            "The database is away",
            "Try again after Retry-After; with an Idempotency-Key or a deduplicationKey nothing is sent twice.",
        ),
    },
}

PROBLEM_TYPES: dict[str, ProblemType] = {
    slug: ProblemType(slug, status, *words) for status, kinds in _BY_STATUS.items() for slug, words in kinds.items()
}
"""By slug."""
