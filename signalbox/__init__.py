"""The client of Signalbox, a durable message queue inside PostgreSQL. Needs psycopg and nothing else."""

from importlib.metadata import PackageNotFoundError, version

from signalbox.async_client import AsyncClient
from signalbox.client import Client
from signalbox.errors import (
    DeduplicationConflict,
    InvalidArgument,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueNotFound,
    QuotaExceeded,
    SignalboxError,
    WrongIsolation,
)
from signalbox.messages import Message

try:
    __version__ = version("signalbox")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Client",
    "DeduplicationConflict",
    "InvalidArgument",
    "Message",
    "OpenTransaction",
    "PayloadTooLarge",
    "QueueClosed",
    "QueueNotFound",
    "QuotaExceeded",
    "SignalboxError",
    "WrongIsolation",
]
