"""The client of Signalbox, a durable message queue inside PostgreSQL. Needs psycopg; over HTTP, httpx as well."""

from signalbox.async_client import AsyncClient
from signalbox.async_verbs import AsyncVerbs
from signalbox.calls.consumer_groups import GroupInfo
from signalbox.calls.queues import QueueInfo
from signalbox.calls.sending import Sent
from signalbox.calls.streams import PartitionPreview, Place, StreamInfo
from signalbox.client import Client
from signalbox.connections.connecting import connect, connect_async
from signalbox.connections.unavailable import DatabaseUnavailable, Unavailable
from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    Forbidden,
    GroupNotFound,
    InMaintenance,
    InvalidArgument,
    MessageNotFound,
    MessageUnreadable,
    Moved,
    NotSettled,
    OpenTransaction,
    OutcomeUnknown,
    PartlySent,
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
from signalbox.messages import Message, Outcome, StreamMessage
from signalbox.payloads.bodies import BodyStore, FileBodies
from signalbox.payloads.unreadable import Unreadable
from signalbox.sender import Sender
from signalbox.verbs import Verbs
from signalbox.version import __version__

__all__ = [
    "AsyncClient",
    "AsyncVerbs",
    "BodyCorrupt",
    "BodyMissing",
    "BodyStore",
    "Client",
    "DatabaseUnavailable",
    "DeduplicationConflict",
    "FileBodies",
    "Forbidden",
    "GroupInfo",
    "GroupNotFound",
    "InMaintenance",
    "InvalidArgument",
    "Message",
    "MessageNotFound",
    "MessageUnreadable",
    "Moved",
    "NotSettled",
    "OpenTransaction",
    "Outcome",
    "OutcomeUnknown",
    "PartitionPreview",
    "PartlySent",
    "PayloadTooLarge",
    "Place",
    "QueueClosed",
    "QueueInUse",
    "QueueInfo",
    "QueueNotFound",
    "QuotaExceeded",
    "RateLimited",
    "Sender",
    "Sent",
    "ServerUnavailable",
    "SignalboxError",
    "StreamClosed",
    "StreamInfo",
    "StreamMessage",
    "StreamNotFound",
    "Unauthorized",
    "Unavailable",
    "Unreadable",
    "Verbs",
    "WrongIsolation",
    "__version__",
    "connect",
    "connect_async",
]
