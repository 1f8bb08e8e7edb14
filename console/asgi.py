"""The console as an ASGI application, served by uvicorn: pages by Django, /v1 by the API's own stack beside it."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.core.asgi import get_asgi_application

import metrics

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

pages = get_asgi_application()

from console import exposure  # noqa: E402
from console.api import asgi as api  # noqa: E402 - it needs Django's applications, which are there only now
from console.api import database, waiting  # noqa: E402


async def application(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """Hand the request to whoever it is for; at the end let go of the API's connections."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "http" and api.is_for(scope["path"]):
        await api.application(scope, receive, send)
    else:
        await pages(scope, receive, send)


async def _live(
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    while (event := await receive())["type"] != "lifespan.shutdown":
        if event["type"] == "lifespan.startup":
            waiting.stop_when_told_to_end()
            exposure.warn()
            await send({"type": "lifespan.startup.complete"})
    await waiting.close()
    await database.close()
    await send({"type": "lifespan.shutdown.complete"})


metrics.keep_fresh()
