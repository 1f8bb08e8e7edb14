"""Every kind of problem, once: its status, its title, and what to do about it. Pages and documents read this list."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of problem."""

    slug: str
    status: int
    title: str
    advice: str


_ALL = (
    Kind(
        "unreadable-body",
        400,
        "The body is not JSON",
        "The detail says where reading stopped. JSON has no NaN, no "
        "Infinity and no comments; a name may stand once in an object; text is UTF-8.",
    ),
    Kind(
        "unreadable-request",
        400,
        "The request cannot be read",
        "Its address or a header is not text, or too much of it.",
    ),
    Kind(
        "unauthorized",
        401,
        "No valid API key",
        "Send `Authorization: Bearer KEY` with a key that has not expired and "
        "was not revoked. A key is shown once, when it is made; a lost one is replaced.",
    ),
    Kind(
        "https-required",
        403,
        "Only over HTTPS",
        "This installation accepts API keys over HTTPS alone. Take the key "
        "that was sent for known to others: replace it.",
    ),
    Kind(
        "scope-lacking",
        403,
        "The key may not do this",
        "The detail names the scope that is missing. Make a key that has it, or use another one.",
    ),
    Kind(
        "out-of-reach",
        403,
        "Beyond what the key reaches",
        "A key of a tenant makes queues of that tenant, and one with "
        "a prefix makes queues, and names dead-letter queues, that begin with it.",
    ),
    Kind("not-found", 404, "No such address", "docs/http-api.md and /v1/docs have the list of calls."),
    Kind(
        "queue-not-found",
        404,
        "No such queue",
        "The queue does not exist, or it is none that this key can reach: of "
        "another tenant, or outside the key's prefix.",
    ),
    Kind(
        "message-not-found",
        404,
        "No such message",
        "Nothing is known of this message in this queue: it never was, or its retention is over.",
    ),
    Kind(
        "job-not-found",
        404,
        "No such job",
        "The job does not exist, or it touches queues that this key does not reach.",
    ),
    Kind("method-not-allowed", 405, "Not with this method", "The header Allow has the methods of this address."),
    Kind(
        "lease-lost",
        409,
        "The lease is no longer held",
        "Its deadline has passed, the message was settled by another "
        "call, or it was taken out of the queue. The message is, or was, delivered again: drop this delivery's work or "
        "make sure that doing it twice is harmless.",
    ),
    Kind(
        "deduplication-conflict",
        409,
        "Another message has this deduplication key",
        "`firstMessageId` was sent with this key and another body. Give another message another key.",
    ),
    Kind(
        "queue-exists",
        409,
        "A queue of this name exists with other settings",
        "Change it with PATCH, or take another name.",
    ),
    Kind(
        "queue-in-use",
        409,
        "The queue is in use",
        "Only a queue without messages is deleted. `messages` has what it holds: receive, redrive or purge it first.",
    ),
    Kind(
        "no-dead-letter-queue",
        409,
        "This queue holds no dead letters",
        "Redrive the queue that keeps them: `deadLetterQueue` of the queue that they died in names it.",
    ),
    Kind(
        "not-reached",
        409,
        "The key does not reach what is in there",
        "A key with a prefix takes of a dead-letter queue what died in queues within its prefix. Use one without.",
    ),
    Kind("wrong-state", 409, "The job is not in a state for this", "`state` has the state that it is in."),
    Kind(
        "purge-outdated",
        409,
        "The queue holds more than was looked at",
        "Ask for a purge plan again, and send what it says; `actual` has what there is now.",
    ),
    Kind("queue-closed", 409, "The queue is closed", "It hands out what it has and accepts no more messages."),
    Kind(
        "request-in-progress",
        409,
        "The same request is under way",
        "Another request with this Idempotency-Key has "
        "not ended yet. Try again in a moment: it then answers as the first one did.",
    ),
    Kind(
        "payload-too-large",
        413,
        "Too large",
        "Split what was sent, put it elsewhere and send where it is, or raise "
        "the limit: the queue's maxPayloadBytes, or API_MAX_BODY_BYTES for a whole request.",
    ),
    Kind("unsupported-media-type", 415, "The body must be JSON", "Send `Content-Type: application/json`."),
    Kind("invalid-argument", 422, "A field is invalid", "`errors` names each field as it was sent, and what is wrong."),
    Kind(
        "idempotency-key-reused",
        422,
        "This Idempotency-Key belongs to another request",
        "It was used with another body or address. Each request that is not a repetition needs a key of its own.",
    ),
    Kind(
        "quota-exceeded",
        429,
        "A limit would be exceeded",
        "Nothing was done. `limitName`, `limit` and `actual` say "
        "which; wait for Retry-After, where there is one: without it the request would never fit.",
    ),
    Kind("rate-exceeded", 429, "The key is used too fast", "Wait for Retry-After, or give the key more."),
    Kind("too-many-connections", 429, "The key waits too often", "Fewer requests at a time, or a key for more."),
    Kind("internal-error", 500, "An error on this side", "It has been logged, and is for the operators."),
    Kind("body-unavailable", 503, "A large payload cannot be read", "The store of large bodies does not have it now."),
    Kind(
        "maintenance",
        503,
        "The installation is under maintenance",
        "Nothing was done. The detail says who and why, `until` when it was announced to end; try again after "
        "Retry-After.",
    ),
    Kind(
        "database-away",
        503,
        "The database is away",
        "Try again after Retry-After; with an Idempotency-Key or a deduplicationKey nothing is sent twice.",
    ),
)

KINDS: dict[str, Kind] = {kind.slug: kind for kind in _ALL}
"""By slug."""
