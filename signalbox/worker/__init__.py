"""The worker: a loop that receives from queues and runs a handler in child processes."""

from signalbox.worker.groups import GroupWorker, run_group
from signalbox.worker.handlers.outcomes import Defer, Reject, Retry
from signalbox.worker.handlers.registry import handles
from signalbox.worker.processes.children import HandlerNotLoaded
from signalbox.worker.worker import Worker

__all__ = ["Defer", "GroupWorker", "HandlerNotLoaded", "Reject", "Retry", "Worker", "handles", "run_group"]
