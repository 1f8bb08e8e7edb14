"""Workers: setting up, running and stopping; several workers in one process start and stop together."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from signalbox.durations import exported
from signalbox.worker.options import Options
from signalbox.worker.run_loop import RunLoop


@dataclass
class Worker(Options):
    """A worker, which runs a handler on the messages of a queue until it is stopped.

    The handler takes a Message. When it returns, the message is acked. When it raises, the message is tried
    again after the queue's backoff, and becomes a dead letter when its deliveries are used up; by raising
    Reject or Retry the handler decides for itself.
    """

    _run_loop: RunLoop | None = field(default=None, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.handler = self.handler_name

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then let handlers finish; a second signal stops at once."""
        run([self])

    async def serve(self) -> None:
        """Work in the caller's event loop until `stop` is called or the task is cancelled."""
        self._loop = asyncio.get_running_loop()
        self._run_loop = RunLoop(self)
        with exported(self.metrics_port):
            await self._run_loop.work()

    def stop(self) -> None:
        """Claim no more messages and let handlers finish; a second call stops at once. Any thread may call it."""
        if self._loop is not None and self._run_loop is not None:
            self._loop.call_soon_threadsafe(self._run_loop.stop)


def run(workers: Sequence[Worker]) -> None:
    """Work until SIGTERM or SIGINT, then let handlers finish; a second signal stops at once."""
    asyncio.run(_run(workers))


async def _run(workers: Sequence[Worker]) -> None:
    """Work until every worker has been stopped. Raises the error of the first that failed."""

    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        for worker in workers:
            worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    serving = [asyncio.create_task(worker.serve()) for worker in workers]
    try:
        await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
        if not stopped:  # one has failed; a second call would stop the others at once
            stop()
        await asyncio.gather(*serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
