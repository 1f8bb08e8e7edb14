"""procrastinate: its own worker, ten jobs at once; finished jobs stay in their table."""

import asyncio
import sys

from procrastinate import App, PsycopgConnector

work, url, count, payload = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
app = App(connector=PsycopgConnector(conninfo=url, min_size=4, max_size=12))


@app.task(name="nothing", queue="bench")
async def nothing(payload: str) -> None:
    """Do nothing with the job."""


async def main() -> None:
    async with app.open_async():
        if work == "prepare":
            await app.schema_manager.apply_schema_async()
        elif work == "fill":
            for _ in range(count // 500):
                await nothing.batch_defer_async(*[{"payload": payload}] * 500)
        else:
            print("ready", flush=True)
            sys.stdin.readline()
            if work == "send":
                for _ in range(count):
                    await nothing.defer_async(payload=payload)
            else:
                await app.run_worker_async(queues=["bench"], wait=False, concurrency=10, install_signal_handlers=False)


asyncio.run(main())
