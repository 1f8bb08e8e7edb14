"""Formatters of log records: as text, or as one JSON object. Both name the message that is being handled.

Only the fields listed here are logged beside the message, so that no other value is logged by accident.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from signalbox.logs.errors import chain_of, in_brief, name_of, stack_of
from signalbox.tracing.context import current

FIELDS = (
    *("queue", "message_id", "receive_count", "trace_id", "correlation_id"),
    *("consumer", "outcome", "error_class", "job", "job_id"),
)
FORMATS = ("text", "json")


class TextFormatter(logging.Formatter):
    """A line for people: time, level, logger, message, then the fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        line = f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03} {record.levelname} {record.name}: "
        line += _in_one_line(record.getMessage())
        if fields := fields_of(record):
            line += " [" + " ".join(f"{name}={_in_one_line(str(value))}" for name, value in fields.items()) + "]"
        for error in _errors(record):
            line += "".join(f"\n  {place}" for place in stack_of(error)) + f"\n{_in_one_line(in_brief(error))}"
        return line


def _in_one_line(text: str) -> str:
    """Escape line breaks: a sender chooses the trace id, which must not look like a line of the log."""
    return _CONTROL.sub(lambda control: control[0].encode("unicode_escape").decode(), text)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


class JsonFormatter(logging.Formatter):
    """One JSON object in one line: time, level, logger, message, the fields, and errors from the last to the first."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **fields_of(record),
        }
        errors = [
            {"class": name_of(error), "brief": in_brief(error), "stack": stack_of(error)} for error in _errors(record)
        ]
        if errors:
            line["errors"] = errors
        return json.dumps(line, ensure_ascii=False, default=str)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record: of its own message or job, or of the message that the thread or task handles."""
    message = current()
    handled = {name: getattr(message, name) for name in FIELDS if hasattr(message, name)} if message is not None else {}
    given = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    return {name: value for name, value in {**handled, **given}.items() if value is not None}


def formatter_of(name: str) -> logging.Formatter:
    """The formatter of this name: one of FORMATS."""
    return {"text": TextFormatter, "json": JsonFormatter}[name]()


def log_format() -> str:
    """The log format of this process, which child processes are started with."""
    handlers = logging.getLogger().handlers
    return "json" if any(isinstance(handler.formatter, JsonFormatter) for handler in handlers) else "text"


def log_to_standard_error(name: str, level: str | int) -> None:
    """Set up the root logger of a Signalbox process, unless the logger has handlers."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter_of(name))
    logging.basicConfig(level=level, handlers=[handler])


def _errors(record: logging.LogRecord) -> list[BaseException]:
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return list(chain_of(error)) if error is not None else []
