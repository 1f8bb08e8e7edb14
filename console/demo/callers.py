"""Callers of the demo over HTTP: one sends and receives, one redrives, and one asks the SQS endpoint unsigned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import requests
from django.conf import settings

KEY_VARIABLE = "DEMO_API_KEY"
QUEUE = "reminders"
DECLINED = "payments-capture-dlq"
HOST = "127.0.0.1"
PATIENCE_SECONDS = 10.0


async def call(key: str) -> None:
    """Make calls until the process is stopped. Without an API key, return at once."""
    if not key:
        return
    caller = Caller(key)
    await asyncio.gather(
        _repeat(caller.send_and_receive, 2.0), _repeat(caller.redrive, 90.0), _repeat(caller.ask_unsigned, 20.0)
    )


async def _repeat(work: Callable[[], None], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        with suppress(requests.RequestException):  # the console restarts, or a quota refuses
            await asyncio.to_thread(work)


class Caller:
    """One key's calls of the HTTP API."""

    def __init__(self, key: str) -> None:
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {key}"

    def send_and_receive(self) -> None:
        """Send a reminder, and receive and complete one that is due."""
        queue = f"queues/{QUEUE}/messages"
        self._ask("POST", queue, {"body": {"cart_id": 1, "kind": "by-http"}})
        for message in self._ask("POST", f"{queue}:receive", {"maxMessages": 1})["messages"]:
            self._ask("POST", f"{queue}/{message['receiptHandle']}:ack")

    def redrive(self) -> None:
        """Try one declined card once more; most are declined again."""
        found = self._ask("GET", f"queues/{DECLINED}/messages", {"filter": "redrives:0", "limit": 1})["messages"]
        if found:
            only = f"id:{found[0]['messageId'].removeprefix('msg_')}"
            self._ask("POST", f"queues/{DECLINED}:redrive", {"filter": only, "reason": "another try", "canary": 0})

    def ask_unsigned(self) -> None:
        """Send a request without a signature to the SQS endpoint."""
        if settings.SQS_PORT:
            target = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
            requests.post(f"http://{HOST}:{settings.SQS_PORT}/", "{}", headers=target, timeout=PATIENCE_SECONDS)

    def _ask(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        given = {"params" if method == "GET" else "json": document}
        address = f"http://{HOST}:{settings.PORT}/v1/{path}"
        answer = self._session.request(method, address, timeout=PATIENCE_SECONDS, **given)
        answer.raise_for_status()
        return dict(answer.json()) if answer.content else {}
