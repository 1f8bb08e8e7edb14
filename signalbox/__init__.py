"""The client of Signalbox, a durable message queue inside PostgreSQL. Needs psycopg and nothing else."""

from importlib.metadata import PackageNotFoundError, version

from signalbox.async_client import AsyncClient
from signalbox.bodies import BodyStore, FileBodies
from signalbox.client import Client
from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    InvalidArgument,
    MessageNotFound,
    NotSettled,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueInUse,
    QueueNotFound,
    QuotaExceeded,
    SignalboxError,
    WrongIsolation,
)
from signalbox.messages import Message, Outcome
from signalbox.sender import Sender

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
    "InvalidArgument",
    "Message",
    "MessageNotFound",
    "NotSettled",
    "OpenTransaction",
    "Outcome",
    "PayloadTooLarge",
    "QueueClosed",
    "QueueInUse",
    "QueueNotFound",
    "QuotaExceeded",
    "Sender",
    "SignalboxError",
    "WrongIsolation",
]
