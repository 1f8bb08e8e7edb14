"""Several workers in one process: they begin together, and when one cannot go on, the others stop too."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import Protocol


class Serving(Protocol):
    """A worker, as far as running it goes."""

    async def serve(self) -> None: ...

    def stop(self) -> None: ...


def run(workers: Sequence[Serving]) -> None:
    """Work until SIGTERM or SIGINT, then finish what runs; at a second signal stop at once."""
    asyncio.run(_run(workers))


async def serve(workers: Sequence[Serving]) -> None:
    """Work until every worker has been stopped. Raises what ended the first that could not go on."""
    serving = [asyncio.create_task(worker.serve()) for worker in workers]
    try:
        await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
        for worker, task in zip(workers, serving, strict=True):
            if not task.done():
                worker.stop()
        await asyncio.gather(*serving)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def _run(workers: Sequence[Serving]) -> None:
    def stop() -> None:
        for worker in workers:
            worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    await serve(workers)
