"""The console as an ASGI application, served by uvicorn: pages by Django, /v1 and /sqs by stacks of their own."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

pages = get_asgi_application()

from console.api import asgi as api  # noqa: E402 - it needs Django's applications, which are there only now
from console.api import waiting  # noqa: E402
from console.api.core import database  # noqa: E402
from console.api.sqs import asgi as sqs  # noqa: E402
from console.api.sqs.listener import second_listener  # noqa: E402
from console.web import server  # noqa: E402
from metrics.reading.snapshot import snapshot  # noqa: E402


async def application(scope: api.Scope, receive: api.Receive, send: api.Send) -> None:
    """Hand the request to the API or to Django; at the end close the API's connections."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "http" and api.is_for(scope["path"]):
        await api.application(scope, receive, send)
    elif scope["type"] == "http" and sqs.is_for(scope["path"]):
        await sqs.application(scope, receive, send)
    else:
        await pages(scope, receive, send)


async def _live(receive: api.Receive, send: api.Send) -> None:
    while (event := await receive())["type"] != "lifespan.shutdown":
        if event["type"] == "lifespan.startup":
            waiting.stop_on_signals()
            server.warn()
            await second_listener.start()
            await send({"type": "lifespan.startup.complete"})
    await second_listener.stop()
    await waiting.close()
    await database.close()
    await send({"type": "lifespan.shutdown.complete"})


snapshot.keeps_fresh = True  # from the first scrape on this process reads the numbers ahead of the next
