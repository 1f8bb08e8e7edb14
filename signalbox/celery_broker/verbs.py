"""The engine's verbs for mailboxes and bindings, which only brokers need, as statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from signalbox.payloads import encode
from signalbox.statements import Statement
from signalbox.statements.statement import only_value
from signalbox.unreadable import decode


def declare_queue(name: str, settings: Mapping[str, Any], tenant: str | None) -> Statement[int]:
    """A queue of this name, made with these settings unless there is one."""
    return Statement(
        "select signalbox.declare_queue(%(name)s::text, %(settings)s::jsonb, %(tenant)s::text)",
        {"name": name, "settings": encode(dict(settings), "settings"), "tenant": tenant},
        only_value,
    )


def ready_messages(queue: str) -> Statement[int | None]:
    """How many messages of the queue can be received; None: there is no such queue."""
    return Statement(
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


def open_mailbox(name: str, keep_seconds: float, mail_seconds: float) -> Statement[int]:
    """A mailbox of this name; its id."""
    return Statement(
        "select signalbox.open_mailbox(%(name)s::text, %(keep)s::double precision, %(mail)s::double precision)",
        {"name": name, "keep": keep_seconds, "mail": mail_seconds},
        only_value,
    )


def keep_mailboxes(names: Sequence[str]) -> Statement[list[str]]:
    """Their owner lives; the names of those that are gone."""
    return Statement(
        "select signalbox.keep_mailboxes(%(names)s::text[])",
        {"names": list(names)},
        lambda rows: [row[0] for row in rows],
    )


def close_mailbox(name: str) -> Statement[bool]:
    """The mailbox goes, with what is in it."""
    return Statement("select signalbox.close_mailbox(%(name)s::text)", {"name": name}, only_value)


def put_mail(mailbox: str, body: object) -> Statement[bool]:
    """Into the mailbox; False when there is none."""
    return Statement(
        "select signalbox.put_mail(%(mailbox)s::text, %(body)s::jsonb)",
        {"mailbox": mailbox, "body": encode(body, "body")},
        only_value,
    )


def take_mail(mailboxes: Sequence[str]) -> Statement[list[tuple[str, Any]]]:
    """What is in these mailboxes, each with the name of its mailbox. It may be an `Unreadable`."""
    return Statement(
        "select mailbox, body::text from signalbox.take_mail(%(mailboxes)s::text[])",
        {"mailboxes": list(mailboxes)},
        lambda rows: [(row[0], decode(row[1], "body")) for row in rows],
    )


def bind_queue(exchange: str, kind: str, routing_key: str, queue: str) -> Statement[None]:
    """What is published to this exchange reaches this queue or mailbox."""
    return Statement(
        "select signalbox.bind_queue(%(exchange)s::text, %(kind)s::text, %(routing_key)s::text, %(queue)s::text)",
        {"exchange": exchange, "kind": kind, "routing_key": routing_key, "queue": queue},
        lambda _: None,
    )


def unbind_queue(exchange: str, routing_key: str, queue: str) -> Statement[bool]:
    """It no longer does."""
    return Statement(
        "select signalbox.unbind_queue(%(exchange)s::text, %(routing_key)s::text, %(queue)s::text)",
        {"exchange": exchange, "routing_key": routing_key, "queue": queue},
        only_value,
    )


def route(exchange: str, routing_key: str) -> Statement[list[tuple[str, bool]]]:
    """The queues that a message published so reaches, and whether each is a mailbox."""
    return Statement(
        "select name, is_mailbox from signalbox.route(%(exchange)s::text, %(routing_key)s::text)",
        {"exchange": exchange, "routing_key": routing_key},
        lambda rows: [(row[0], row[1]) for row in rows],
    )
