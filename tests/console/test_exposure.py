"""A server that others reach without a proxy says so when it starts."""

from __future__ import annotations

import logging
import sys

import pytest

from console.web import server

UVICORN = "/opt/signalbox/.venv/bin/uvicorn"
APP = "console.asgi:application"


@pytest.mark.parametrize("words", [["--host", "0.0.0.0"], ["--host=::"], ["--host", "queues.internal", "--port", "80"]])
@pytest.mark.parametrize("program", [UVICORN, "/lib/uvicorn/__main__.py"])
def test_others_reach_it(program: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.exposed_host([program, APP, *words], {})
    assert server.exposed_host([program, APP], {"UVICORN_HOST": "10.0.0.7"}) == "10.0.0.7"


@pytest.mark.parametrize(
    "arguments",
    [
        [UVICORN, APP],
        [UVICORN, APP, "--host", "127.0.0.1"],
        [UVICORN, APP, "--host", "localhost"],
        [UVICORN, APP, "--host", "::1"],
        [UVICORN, APP, "--uds", "/run/signalbox.sock"],
        [UVICORN, APP, "--host", "0.0.0.0", "--http", "h11", "--h11-max-incomplete-event-size", "65536"],
        ["/usr/bin/pytest", "--host", "0.0.0.0"],
        [],
    ],
)
def test_other_hosts_cannot_reach_it(arguments: list[str]) -> None:
    assert server.exposed_host(arguments, {}) == ""


def test_it_is_said_in_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(sys, "argv", [UVICORN, APP, "--host", "0.0.0.0"])

    server.warn()

    assert "listens on 0.0.0.0, and bounds neither the size" in caplog.text
