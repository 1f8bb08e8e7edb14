"""Logs of Signalbox's processes: lines for people or JSON for programs, with ids of messages, never payloads."""

from signalbox.logs.errors import in_brief
from signalbox.logs.formatters import JsonFormatter, TextFormatter, formatter_of, log_to_standard_error

__all__ = ["JsonFormatter", "TextFormatter", "formatter_of", "in_brief", "log_to_standard_error"]
