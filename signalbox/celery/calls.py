"""The calls for mailboxes and bindings, which only brokers need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox.calls.call import Call, only_value, only_values
from signalbox.payloads import encode
from signalbox.unreadable import decode


def declare_queue(name: str, settings: Mapping[str, Any], tenant: str | None) -> Call[int]:
    """Create a queue with these settings, unless there is one of this name."""
    return Call(
        "select signalbox.declare_queue(%(name)s::text, %(settings)s::jsonb, %(tenant)s::text)",
        {"name": name, "settings": encode(dict(settings), "settings"), "tenant": tenant},
        only_value,
    )


def ready_messages(queue: str) -> Call[int | None]:
    """Count the messages of the queue that can be received; None: there is no such queue."""
    return Call(
        """
        select (
          select signalbox.depth(t.totals, 'ready')
          from signalbox.queue_totals(array[q.queue_id]) t
        )
        from signalbox.queue q
        where q.name = %(queue)s::text
        """,
        {"queue": queue},
        lambda rows: int(rows[0][0] or 0) if rows else None,
    )


def open_mailbox(name: str, keep_seconds: float, mail_seconds: float) -> Call[int]:
    """Open a mailbox of this name; the answer is its id."""
    return Call(
        "select signalbox.open_mailbox(%(name)s::text, %(keep)s::double precision, %(mail)s::double precision)",
        {"name": name, "keep": keep_seconds, "mail": mail_seconds},
        only_value,
    )


def keep_mailboxes(names: Sequence[str]) -> Call[list[str]]:
    """Report that the owner of these mailboxes lives; the answer has the names of missing ones."""
    return Call("select signalbox.keep_mailboxes(%(names)s::text[])", {"names": list(names)}, only_values)


def close_mailbox(name: str) -> Call[bool]:
    """Delete the mailbox with the messages in it."""
    return Call("select signalbox.close_mailbox(%(name)s::text)", {"name": name}, only_value)


def put_mail(mailbox: str, body: object) -> Call[bool]:
    """Put a message into the mailbox; False when there is no such mailbox."""
    return Call(
        "select signalbox.put_mail(%(mailbox)s::text, %(body)s::jsonb)",
        {"mailbox": mailbox, "body": encode(body, "body")},
        only_value,
    )


def take_mail(mailboxes: Sequence[str]) -> Call[list[tuple[str, Any]]]:
    """Take the messages of these mailboxes, each with the name of its mailbox. A message may be an `Unreadable`."""
    return Call(
        "select mailbox, body::text from signalbox.take_mail(%(mailboxes)s::text[])",
        {"mailboxes": list(mailboxes)},
        lambda rows: [(row[0], decode(row[1], "body")) for row in rows],
    )


def bind_queue(exchange: str, kind: str, routing_key: str, queue: str) -> Call[None]:
    """Bind a queue or mailbox to an exchange: messages that are published there reach it."""
    return Call(
        "select signalbox.bind_queue(%(exchange)s::text, %(kind)s::text, %(routing_key)s::text, %(queue)s::text)",
        {"exchange": exchange, "kind": kind, "routing_key": routing_key, "queue": queue},
        lambda _: None,
    )


def unbind_queue(exchange: str, routing_key: str, queue: str) -> Call[bool]:
    """Remove the binding of a queue or mailbox to an exchange."""
    return Call(
        "select signalbox.unbind_queue(%(exchange)s::text, %(routing_key)s::text, %(queue)s::text)",
        {"exchange": exchange, "routing_key": routing_key, "queue": queue},
        only_value,
    )


def route(exchange: str, routing_key: str) -> Call[list[tuple[str, bool]]]:
    """Find the queues that a message with this exchange and key reaches, and whether each is a mailbox."""
    return Call(
        "select name, is_mailbox from signalbox.route(%(exchange)s::text, %(routing_key)s::text)",
        {"exchange": exchange, "routing_key": routing_key},
        lambda rows: [(row[0], row[1]) for row in rows],
    )


def engine_name(queue: str) -> str:
    """The queue's name in the engine: its own, or a name derived from it where the engine would refuse its own."""
    if _PLAIN_NAME.fullmatch(queue):
        return queue
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", queue).strip("-._")[:80] or "queue"
    return f"{plain}-{hashlib.sha256(queue.encode()).hexdigest()[:8]}"


#: Names that the engine accepts as they are.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")
