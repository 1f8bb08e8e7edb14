"""A server of the API over the test database, and schemathesis, which takes long to load and to make up requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.servers import Server, console_server


def pytest_configure(config: pytest.Config) -> None:
    """Load what the options in pyproject.toml keep out elsewhere."""
    config.pluginmanager.import_plugin("schemathesis.pytest.plugin")


@pytest.fixture(scope="session")
def api_server(dsn: str) -> Iterator[Server]:
    """Start one server for all tests of a process."""
    with console_server(dsn) as server:
        yield server
