"""The worker: a loop that receives from one queue and runs a handler, one child process for each run at a time."""

from signalbox.worker.children import HandlerNotLoaded
from signalbox.worker.registering import handles
from signalbox.worker.verdicts import Reject, Retry
from signalbox.worker.worker import Worker

__all__ = ["HandlerNotLoaded", "Reject", "Retry", "Worker", "handles"]
