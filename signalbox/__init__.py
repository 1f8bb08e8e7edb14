"""The client of Signalbox, a durable message queue inside PostgreSQL. Needs psycopg; over HTTP, httpx as well."""

from importlib.metadata import PackageNotFoundError, version

from signalbox.async_client import AsyncClient
from signalbox.bodies import BodyStore, FileBodies
from signalbox.client import Client
from signalbox.connecting import connect, connect_async
from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    GroupNotFound,
    InMaintenance,
    InvalidArgument,
    MessageNotFound,
    MessageUnreadable,
    NotSettled,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueInUse,
    QueueNotFound,
    QuotaExceeded,
    SignalboxError,
    StreamNotFound,
    WrongIsolation,
)
from signalbox.messages import Message, Outcome
from signalbox.queue_info import QueueInfo
from signalbox.sender import Sender
from signalbox.server_errors import Forbidden, OutcomeUnknown, RateLimited, ServerUnavailable, Unauthorized
from signalbox.streams import Place, StreamMessage
from signalbox.unavailable import DatabaseUnavailable, Unavailable
from signalbox.unreadable import Unreadable
from signalbox.verbs import AsyncVerbs, Verbs

try:
    __version__ = version("signalbox-queue")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.1.0"

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
    "GroupNotFound",
    "InMaintenance",
    "InvalidArgument",
    "Message",
    "MessageNotFound",
    "MessageUnreadable",
    "NotSettled",
    "OpenTransaction",
    "Outcome",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "Place",
    "QueueClosed",
    "QueueInUse",
    "QueueInfo",
    "QueueNotFound",
    "QuotaExceeded",
    "RateLimited",
    "Sender",
    "ServerUnavailable",
    "SignalboxError",
    "StreamMessage",
    "StreamNotFound",
    "Unauthorized",
    "Unavailable",
    "Unreadable",
    "Verbs",
    "WrongIsolation",
    "connect",
    "connect_async",
]
