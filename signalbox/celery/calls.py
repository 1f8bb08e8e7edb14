"""The calls for mailboxes and bindings, which only brokers need."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from signalbox.calls.call import Call, Function, only_value, only_values
from signalbox.payloads.encoding import encode
from signalbox.payloads.unreadable import decode

#: Creates a queue with these settings, unless there is one of this name.
declare_queue: Function[int] = Function("declare_queue", "name text, settings jsonb, tenant text", only_value)
#: Opens a mailbox of this name; the answer is its id.
open_mailbox: Function[int] = Function(
    "open_mailbox", "name text, keep_seconds double precision, mail_seconds double precision", only_value
)
#: Reports that the owner of these mailboxes lives; the answer has the names of missing ones.
keep_mailboxes: Function[list[str]] = Function("keep_mailboxes", "names text[]", only_values)
#: Deletes the mailbox with the messages in it.
close_mailbox: Function[bool] = Function("close_mailbox", "name text", only_value)
#: Puts a message into the mailbox; False when there is no such mailbox.
put_mail: Function[bool] = Function("put_mail", "mailbox text, body jsonb", only_value)
#: Takes the messages of these mailboxes, each with the name of its mailbox. A message may be an `Unreadable`.
take_mail: Function[list[tuple[str, Any]]] = Function(
    "take_mail",
    "mailboxes text[]",
    lambda rows: [(row[0], decode(row[1], "body")) for row in rows],
    "mailbox, body::text",
)
#: Binds a queue or mailbox to an exchange: messages that are published there reach it.
bind_queue: Function[None] = Function(
    "bind_queue", "exchange text, kind text, routing_key text, queue text", lambda _: None
)
#: Removes the binding of a queue or mailbox to an exchange.
unbind_queue: Function[bool] = Function("unbind_queue", "exchange text, routing_key text, queue text", only_value)
#: Finds the queues that a message with this exchange and key reaches, and whether each is a mailbox.
route: Function[list[tuple[str, bool]]] = Function(
    "route", "exchange text, routing_key text", lambda rows: [(row[0], row[1]) for row in rows], "name, is_mailbox"
)

#: Stores the result of a task or a group under Celery's key.
store_result: Function[None] = Function(
    "store_result", "key text, value bytea, keep_seconds double precision", lambda _: None
)
#: Reads the results under these keys; a key without one is left out.
read_results: Function[list[tuple[str, bytes]]] = Function(
    "read_results", "keys text[]", lambda rows: [(row[0], bytes(row[1])) for row in rows], "key, value"
)
#: Keeps a stored result until `keep_seconds` from now; False when there is none.
keep_result: Function[bool] = Function("keep_result", "key text, keep_seconds double precision", only_value)
#: Deletes the results under these keys.
delete_results: Function[int] = Function("delete_results", "keys text[]", only_value)
#: Notes that a part of a chord has ended; the answer is the number of parts that have.
count_part: Function[int] = Function("count_part", "key text, part text, keep_seconds double precision", only_value)


def report_schedule(application: str, sender: str, entries: list[Any]) -> Call[None]:
    """Store the schedule of an application's Celery beat for the console."""
    return Call(
        "select signalbox.report_schedule(%(application)s::text, %(sender)s::text, %(entries)s::jsonb)",
        {"application": application, "sender": sender, "entries": encode(entries, "entries")},
        lambda _: None,
    )


def expire_results() -> Call[int]:
    """Delete results that have expired."""
    return Call("select signalbox.expire_results()", {}, only_value)


@dataclass(frozen=True)
class Delayed:
    """A message that is delivered later."""

    queue: str
    message_id: int
    due_at: datetime
    priority: int
    retried: bool
    payload: Any


def delayed_messages(queues: list[str], max_messages: int) -> Call[list[Delayed]]:
    """List the delayed messages of these queues, those that are due first; a message may be an `Unreadable`."""
    return Call(
        """
        select q.name, m.message_id, m.since, m.priority, m.receive_count > 0, m.payload::text
        from signalbox.queue q
        cross join lateral (
          select * from signalbox.live_message m
          where m.queue_id = q.queue_id and m.state = 'scheduled'
          order by m.since
          limit %(max_messages)s
        ) m
        where q.name = any(%(queues)s::text[])
        order by m.since, m.message_id
        limit %(max_messages)s
        """,
        {"queues": queues, "max_messages": max_messages},
        lambda rows: [_delayed(*row) for row in rows],
    )


def _delayed(queue: str, message_id: int, due_at: datetime, priority: int, retried: bool, payload: str) -> Delayed:
    return Delayed(queue, message_id, due_at, priority, retried, decode(payload, "payload"))


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


def engine_name(queue: str) -> str:
    """The queue's name in the engine: its own, or a name derived from it where the engine would refuse its own."""
    if _PLAIN_NAME.fullmatch(queue):
        return queue
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", queue).strip("-._")[:80] or "queue"
    return f"{plain}-{hashlib.sha256(queue.encode()).hexdigest()[:8]}"


#: Names that the engine accepts as they are.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")
