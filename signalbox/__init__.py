"""The client of Signalbox, a durable message queue inside PostgreSQL. Needs psycopg and nothing else."""

from importlib.metadata import PackageNotFoundError, version

from signalbox.async_client import AsyncClient
from signalbox.bodies import BodyStore, FileBodies
from signalbox.client import Client
from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    GroupNotFound,
    InvalidArgument,
    MessageNotFound,
    NotSettled,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueNotFound,
    QuotaExceeded,
    SignalboxError,
    StreamNotFound,
    WrongIsolation,
)
from signalbox.messages import Message, Outcome
from signalbox.sender import Sender
from signalbox.streams import Place, StreamMessage

try:
    __version__ = version("signalbox")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "BodyCorrupt",
    "BodyMissing",
    "BodyStore",
    "Client",
    "DeduplicationConflict",
    "FileBodies",
    "GroupNotFound",
    "InvalidArgument",
    "Message",
    "MessageNotFound",
    "NotSettled",
    "OpenTransaction",
    "Outcome",
    "PayloadTooLarge",
    "Place",
    "QueueClosed",
    "QueueNotFound",
    "QuotaExceeded",
    "Sender",
    "SignalboxError",
    "StreamMessage",
    "StreamNotFound",
    "WrongIsolation",
]
