"""A console over the test database, and a key that may do everything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import DjangoDbBlocker

from console.access.api_keys import keys
from console.api.openapi import document
from tests.console.servers import console_server


@pytest.fixture(scope="session")
def console(dsn: str, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, str]]:
    """Serve a console; gives the variables with which a program finds it."""
    with django_db_blocker.unblock():
        key = keys.create(f"clients-{uuid4().hex[:8]}", "*", actor="test").text
    with console_server(dsn) as server:
        yield {"SIGNALBOX_URL": server.url, "SIGNALBOX_API_KEY": key}


@pytest.fixture(scope="module")
def openapi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The OpenAPI document as a file."""
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    file.write_text(json.dumps(document()))
    return file
