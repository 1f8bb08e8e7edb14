"""The worker as its user sees it: set up, run, told to stop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from signalbox.worker import serving
from signalbox.worker.exporting import exported
from signalbox.worker.options import Options
from signalbox.worker.shift import Shift


@dataclass
class Worker(Options):
    """Runs a handler on the messages of a queue until it is told to stop.

    The handler takes a Message. When it returns, the message is acked. When it raises, the message is tried
    again after the queue's backoff, and becomes a dead letter when its deliveries are used up; by raising
    Reject or Retry the handler decides for itself.
    """

    _shift: Shift | None = field(default=None, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.handler = self.handler_name

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then finish what runs; at a second signal stop at once."""
        serving.run([self])

    async def serve(self) -> None:
        """Work until `stop` is called or this is cancelled, in an event loop of yours."""
        self._loop = asyncio.get_running_loop()
        self._shift = Shift(self)
        with exported(self.metrics_port):
            await self._shift.work()

    def stop(self) -> None:
        """Claim nothing more and finish what runs; called again, stop at once. From any thread."""
        if self._loop is not None and self._shift is not None:
            self._loop.call_soon_threadsafe(self._shift.stop)
