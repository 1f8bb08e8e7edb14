"""Queues and consumers: making, configuring, purging, announcing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from signalbox import arguments
from signalbox.payloads import encode
from signalbox.statements.statement import Statement, only_value

TRASH_SECONDS = 86_400.0
"""How long what a client purges can be put back, unless it says otherwise."""


def create_queue(name: str, settings: Mapping[str, object], tenant: str | None = None) -> Statement[int]:
    """A queue of this name with these settings; its id. Repeating it with equal settings changes nothing."""
    return Statement(
        """
        select signalbox.create_queue(
          name => %(name)s::text, settings => %(settings)s::jsonb, tenant => %(tenant)s::text
        )
        """,
        {
            "name": arguments.text("name", name),
            "settings": encode(dict(settings), "settings"),
            "tenant": arguments.optional_text("tenant", tenant),
        },
        only_value,
    )


def configure_queue(name: str, settings: Mapping[str, object]) -> Statement[int]:
    """The settings named become these, the others stay; the queue's id."""
    return Statement(
        "select signalbox.configure_queue(name => %(name)s::text, settings => %(settings)s::jsonb)",
        {"name": arguments.text("name", name), "settings": encode(dict(settings), "settings")},
        only_value,
    )


def purge(
    queue: str, through_message_id: int | None, states: Sequence[str], max_messages: int, keep_seconds: float
) -> Statement[int]:
    """One step of a purge: the number of removed messages, and zero when none is left.

    The messages stay in the trash for `keep_seconds`; with 0 they are deleted for good.
    """
    return Statement(
        """
        select signalbox.purge_to_trash(
          queue => %(queue)s::text,
          through_message_id => %(through_message_id)s::bigint,
          states => %(states)s::text[],
          max_messages => %(max_messages)s::int,
          keep_seconds => %(keep_seconds)s::double precision
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "through_message_id": through_message_id,
            "states": arguments.column("states", states, len(states), arguments.text),
            "max_messages": arguments.count("max_messages", max_messages),
            "keep_seconds": float(keep_seconds),
        },
        only_value,
    )


def announce_consumer(queue: str, consumer: str, details: Mapping[str, object]) -> Statement[None]:
    """Tell the console that this consumer is alive, and what it is."""
    return Statement(
        """
        select signalbox.announce_consumer(
          queue => %(queue)s::text, consumer => %(consumer)s::text, details => %(details)s::jsonb
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "consumer": arguments.text("consumer", consumer),
            "details": encode(dict(details), "details"),
        },
        lambda _: None,
    )
