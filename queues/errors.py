"""Every way the engine refuses: the client's error tree, under the name the apps import it by, and one of ours."""

from signalbox.errors import (
    BodyCorrupt,
    BodyMissing,
    DeduplicationConflict,
    GroupNotFound,
    InMaintenance,
    InvalidArgument,
    OpenTransaction,
    PayloadTooLarge,
    QueueClosed,
    QueueInUse,
    QueueNotFound,
    QuotaExceeded,
    SignalboxError,
    StreamNotFound,
    WrongIsolation,
    translated,
)

__all__ = [
    "BodyCorrupt",
    "BodyMissing",
    "DeduplicationConflict",
    "GroupNotFound",
    "InMaintenance",
    "InvalidArgument",
    "OpenTransaction",
    "PayloadTooLarge",
    "QueueClosed",
    "QueueInUse",
    "QueueNotFound",
    "QuotaExceeded",
    "SignalboxError",
    "StreamNotFound",
    "TenantNotFound",
    "WrongIsolation",
    "translated",
]


class TenantNotFound(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """There is no tenant of this name."""
