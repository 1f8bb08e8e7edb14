"""Lower bound of the cost: the same statements, called by the shortest possible ASGI application.

The application has no keys, routes, checks or documents. The difference to the API is the cost of these.
"""

from __future__ import annotations

import json
import os
from typing import Any

from psycopg_pool import AsyncConnectionPool

from signalbox import AsyncClient

_pool = AsyncConnectionPool(
    os.environ["DATABASE_URL"], min_size=1, max_size=10, open=False, kwargs={"autocommit": True}
)
_client = AsyncClient(_pool)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Endpoint that accepts the API's requests and gives the answers that the load reads."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body", False):
            break
    _, _, _, queue, rest = scope["path"].split("/", 4)
    content = json.dumps(await _answer(queue, rest, json.loads(body) if body else {})).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _answer(queue: str, rest: str, asked: dict[str, Any]) -> Any:
    if rest == "messages":
        return {"messageId": await _client.send(queue, asked["body"])}
    if rest == "messages:batch":
        return {"results": await _client.send_batch(queue, [message["body"] for message in asked["messages"]])}
    if rest == "messages:receive":
        found = await _client.receive(queue, asked["maxMessages"])
        return {"messages": [{"receiptHandle": one.receipt_handle, "body": one.payload} for one in found]}
    if rest == "messages:ack":
        return {"results": await _client.ack_batch(asked["receiptHandles"])}
    return {"acked": await _client.ack(rest.removeprefix("messages/").removesuffix(":ack"))}


async def _live(receive: Any, send: Any) -> None:
    while (event := await receive())["type"] != "lifespan.shutdown":
        if event["type"] == "lifespan.startup":
            await _pool.open()
            await send({"type": "lifespan.startup.complete"})
    await _pool.close()
    await send({"type": "lifespan.shutdown.complete"})
