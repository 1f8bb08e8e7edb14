"""Each verb as one HTTP request with the reading of its answer; nothing here touches a connection.

Arguments are checked and encoded by the statements of the database flavour, so both refuse the same in the same words.
"""

from signalbox.http.call import Answer, Call
from signalbox.http.calls.looking import describe_queue, list_queues
from signalbox.http.calls.managing import announce_consumer, configure_queue, create_queue
from signalbox.http.calls.receiving import MAX_WAIT_SECONDS, ack_and_receive, receive
from signalbox.http.calls.sending import send, send_batch, send_each
from signalbox.http.calls.settling import ack, change_visibility, message_outcome, nack

__all__ = [
    "MAX_WAIT_SECONDS",
    "Answer",
    "Call",
    "ack",
    "ack_and_receive",
    "announce_consumer",
    "change_visibility",
    "configure_queue",
    "create_queue",
    "describe_queue",
    "list_queues",
    "message_outcome",
    "nack",
    "receive",
    "send",
    "send_batch",
    "send_each",
]
