"""Clients of the SQS endpoint of a running server, and queues of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from console.access.api_keys import SQS_SCOPES, keys
from tests.console.api.sqs.clients import Credentials, client
from tests.console.servers import Server

_numbers = itertools.count(1)

Client = Any


@pytest.fixture
def credentials(api_server: Server, commits: None) -> Callable[..., Credentials]:
    """Credentials of a new key."""

    def make(scopes: Any = SQS_SCOPES, **options: Any) -> Credentials:
        made = keys.create(f"sqs-test-{next(_numbers)}", scopes, actor="test", sqs=True, **options)
        return Credentials(f"{api_server.url}/sqs", made.row.identifier, made.secret)

    return make


@pytest.fixture
def connect_sqs(credentials: Callable[..., Credentials]) -> Callable[..., Client]:
    """A client with a new key."""

    def make(protocol: str = "json", **options: Any) -> Client:
        return client(credentials(**options), protocol)

    return make


@pytest.fixture(params=["json", "query"])
def sqs(request: pytest.FixtureRequest, connect_sqs: Callable[..., Client]) -> Client:
    """A client of each protocol."""
    return connect_sqs(request.param)


@pytest.fixture
def json_sqs(connect_sqs: Callable[..., Client]) -> Client:
    """A client of the JSON protocol."""
    return connect_sqs()


@pytest.fixture
def new_name() -> Callable[..., str]:
    """Names of queues that no other test uses."""
    return lambda suffix="": f"sqs-{next(_numbers)}{suffix}"


@pytest.fixture
def queue(sqs: Client, new_name: Callable[..., str]) -> str:
    """The URL of a new queue."""
    return sqs.create_queue(QueueName=new_name())["QueueUrl"]
