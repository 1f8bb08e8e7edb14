"""Every client behind one face: the asynchronous ones are called like the others, in a loop of their own."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from signalbox import AsyncClient, Client
from signalbox.http import AsyncHttpClient, HttpClient

FLAVOURS = ("database", "database async", "http", "http async")
CLASSES = {"database": Client, "database async": AsyncClient, "http": HttpClient, "http async": AsyncHttpClient}


class Awaited:
    """An asynchronous client whose verbs are awaited here."""

    def __init__(self, client: Any, runner: asyncio.Runner) -> None:
        self.client = client
        self._runner = runner

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            return self._runner.run(
                getattr(self.client, verb)(*arguments, **options), context=contextvars.copy_context()
            )

        return call


@contextmanager
def client_of(flavour: str, *address: str, **options: Any) -> Iterator[Any]:
    """A client of this flavour, closed afterwards."""
    client = CLASSES[flavour](*address, **options)
    if not flavour.endswith("async"):
        with client:
            yield client
        return
    with asyncio.Runner() as runner:
        awaited = Awaited(client, runner)
        try:
            yield awaited
        finally:
            awaited.close()


def public(kind: type) -> dict[str, inspect.Signature]:
    """The verbs of a client with their arguments and what they return, awaited or not."""
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }
