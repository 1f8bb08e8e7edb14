"""A console whose SQS endpoint has its own port, and keys for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from console.access.api_keys import SQS_SCOPES, keys
from tests.console.api.sqs.clients import Credentials
from tests.console.servers import console_server
from tests.ports import free_port


@dataclass(frozen=True)
class Endpoint:
    port: int

    def credentials(self, name: str) -> Credentials:
        made = keys.create(name, (*SQS_SCOPES, "purge_any"), actor="test", sqs=True)
        return Credentials(f"http://127.0.0.1:{self.port}", made.row.identifier, made.secret)


@pytest.fixture(scope="module")
def endpoint(dsn: str) -> Iterator[Endpoint]:
    """The endpoint at the root of a second port, as programs need it that know only a host and a port."""
    port = free_port()
    with console_server(dsn, SQS_PORT=str(port)):
        yield Endpoint(port)
