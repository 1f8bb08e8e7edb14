"""The console's logs: text or JSON, with the paths of requests and not what was searched for."""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest

from console import settings
from console.queues import views as queues
from console.web.server import WithoutQuery
from queues.upkeep.upkeep import Pulse, Step
from signalbox.logs import JsonFormatter, TextFormatter
from tests.console.browsers import Browser
from tests.engine import Engine

CANARY = "canary-4111-1111"


class Lines(logging.Handler):
    """Output of both formatters for every record."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text: list[str] = []
        self.documents: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(TextFormatter().format(record))
        self.documents.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    loggers = [logging.getLogger(name) for name in ("", "django")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


def test_a_page_that_fails_over_a_payload_does_not_log_it(
    operator: Browser, engine: Engine, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(queues.queue_head, "find", fail)
    operator.raise_request_exception = False

    operator.see(f"/queues/{engine.queue}", status=500, q=CANARY)

    (told,) = [one for one in lines.documents if "Internal Server Error" in one["message"]]
    assert told["errors"][0]["class"] == "ValueError"
    assert any("test_console_logs.py" in place for place in told["errors"][0]["stack"])
    assert CANARY not in "".join(lines.text) + json.dumps(lines.documents)


def test_a_step_of_upkeep_that_fails_does_not_quote_a_row(engine: Engine, lines: Lines) -> None:
    pulse = Pulse(engine.connection)
    pulse.steps = [Step("quote", 1.0, lambda: engine.connection.execute("select %s::text::jsonb", [CANARY]))]

    pulse.run_due(0.0)

    assert any("upkeep step quote failed" in one for one in lines.text)
    assert "canary" not in "".join(lines.text)


def test_requests_are_logged_without_what_was_searched() -> None:
    record = logging.LogRecord(
        "uvicorn.access",
        logging.INFO,
        "",
        0,
        '%s - "%s %s HTTP/%s" %d',
        ("127.0.0.1:5", "GET", f"/dead-letters?q=payload.card:{CANARY}", "1.1", 200),
        None,
    )

    assert WithoutQuery().filter(record)
    assert record.getMessage() == '127.0.0.1:5 - "GET /dead-letters HTTP/1.1" 200'


def test_the_configuration_is_one_that_logging_takes() -> None:
    configured = logging.config.DictConfigurator(settings.LOGGING | {"disable_existing_loggers": False})  # type: ignore[attr-defined]

    formatter = configured.configure_formatter(dict(settings.LOGGING["formatters"]["line"]))

    assert isinstance(formatter, TextFormatter)
