"""Errors of the engine: those of the client, under the name by which the apps import them, and TenantNotFound."""

from signalbox.errors import BodyCorrupt as BodyCorrupt
from signalbox.errors import BodyMissing as BodyMissing
from signalbox.errors import DeduplicationConflict as DeduplicationConflict
from signalbox.errors import GroupNotFound as GroupNotFound
from signalbox.errors import InMaintenance as InMaintenance
from signalbox.errors import InvalidArgument as InvalidArgument
from signalbox.errors import Moved as Moved
from signalbox.errors import OpenTransaction as OpenTransaction
from signalbox.errors import PayloadTooLarge as PayloadTooLarge
from signalbox.errors import QueueClosed as QueueClosed
from signalbox.errors import QueueInUse as QueueInUse
from signalbox.errors import QueueNotFound as QueueNotFound
from signalbox.errors import QuotaExceeded as QuotaExceeded
from signalbox.errors import SignalboxError as SignalboxError
from signalbox.errors import StreamNotFound as StreamNotFound
from signalbox.errors import WrongIsolation as WrongIsolation
from signalbox.errors import translated as translated


class TenantNotFound(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """No tenant has this name."""
