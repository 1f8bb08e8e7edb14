"""Every way the engine refuses: the client's error tree, under the name the apps import it by."""

from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    InvalidArgument,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueNotFound,
    SignalboxError,
    WrongIsolation,
    translated,
)

__all__ = [
    "BodyCorrupt",
    "BodyMissing",
    "DeduplicationConflict",
    "InvalidArgument",
    "OpenTransaction",
    "PayloadTooLarge",
    "QueueClosed",
    "QueueNotFound",
    "SignalboxError",
    "WrongIsolation",
    "translated",
]
