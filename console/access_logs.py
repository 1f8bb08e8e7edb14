"""What the web server logs of a request: its path, and never what was searched for, which may be from a payload."""

from __future__ import annotations

import logging

PATH = 2  # uvicorn's arguments are client, method, path with query, version, status


class WithoutQuery(logging.Filter):
    """Cuts the query off the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        arguments = record.args
        if isinstance(arguments, tuple) and len(arguments) > PATH and isinstance(arguments[PATH], str):
            path = arguments[PATH].partition("?")[0]
            record.args = (*arguments[:PATH], path, *arguments[PATH + 1 :])
        return True
