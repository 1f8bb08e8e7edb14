"""The demo's workers: one for each queue that has a handler, in one process. `python -m console.demo.workers`."""

from __future__ import annotations

import django

from signalbox.worker import Worker, serving


def run() -> None:
    """Work until SIGTERM or SIGINT."""
    django.setup()
    from console.demo.scenery import QUEUES
    from queues.connections import dsn

    address = dsn()
    workers = [
        Worker(
            address,
            queue.name,
            f"console.demo.handlers:{queue.handler}",
            concurrency=queue.concurrency,
            task_timeout=30,
            stop_grace=3,
        )
        for queue in QUEUES
        if queue.handler
    ]
    serving.run(workers)


if __name__ == "__main__":
    run()
