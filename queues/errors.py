"""Every way the engine refuses: the client's error tree, under the name the apps import it by."""

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
    translated,
)

__all__ = [
    "DeduplicationConflict",
    "InvalidArgument",
    "OpenTransaction",
    "PayloadTooLarge",
    "QueueClosed",
    "QueueNotFound",
    "QuotaExceeded",
    "SignalboxError",
    "WrongIsolation",
    "translated",
]
