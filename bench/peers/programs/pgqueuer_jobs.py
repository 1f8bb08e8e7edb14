"""pgqueuer: its own worker, ten jobs a batch; finished jobs go to its log table."""

import asyncio
import sys

import psycopg
from pgqueuer import QueueManager
from pgqueuer.db import PsycopgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

work, url, count, payload = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].encode()


async def main() -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        driver = PsycopgDriver(connection)
        queries = Queries(driver)
        if work == "prepare":
            await queries.install()
        elif work == "fill":
            for _ in range(count // 500):
                await queries.enqueue(["bench"] * 500, [payload] * 500, [0] * 500)
        else:
            manager = QueueManager(queries)

            @manager.entrypoint("bench")
            async def nothing(job: Job) -> None:
                """Do nothing with the job."""

            print("ready", flush=True)
            sys.stdin.readline()
            if work == "send":
                for _ in range(count):
                    await queries.enqueue("bench", payload)
            else:
                await manager.run(batch_size=10, mode=QueueExecutionMode.drain)


asyncio.run(main())
