"""Each verb as one SQL statement with its parameters and the reading of its answer.

Both clients, and anything else with a psycopg connection, run these; nothing here touches a connection.
JSON travels as text in both directions, so that a connection whose owner has replaced psycopg's adapters
(Django does) gives the same messages.
"""

from signalbox.statements.batches import Refused, nack_batch, send_each
from signalbox.statements.looking import describe_queue, list_queues
from signalbox.statements.managing import TRASH_SECONDS, announce_consumer, configure_queue, create_queue, purge
from signalbox.statements.receiving import ack_and_receive, begin_long_poll, end_long_poll, receive
from signalbox.statements.sending import (
    BatchOptions,
    SendOptions,
    claim_body,
    payloads_of,
    send,
    send_batch,
    send_together,
    with_bodies,
)
from signalbox.statements.settling import NackOptions, ack, change_visibility, message_outcome, nack
from signalbox.statements.statement import Statement

__all__ = [
    "TRASH_SECONDS",
    "BatchOptions",
    "NackOptions",
    "Refused",
    "SendOptions",
    "Statement",
    "ack",
    "ack_and_receive",
    "announce_consumer",
    "begin_long_poll",
    "change_visibility",
    "claim_body",
    "configure_queue",
    "create_queue",
    "describe_queue",
    "end_long_poll",
    "list_queues",
    "message_outcome",
    "nack",
    "nack_batch",
    "payloads_of",
    "purge",
    "receive",
    "send",
    "send_batch",
    "send_each",
    "send_together",
    "with_bodies",
]
