"""Operator with the console open, and a scraper: pages one after the other, at a person's speed."""

from __future__ import annotations

import re
import threading
import urllib.error
from itertools import cycle

from tests.proof.demo.running import Demo

PAGES = (
    "/", "/dead-letters", "/alerts", "/streams", "/tenants", "/pipeline", "/redrives", "/audit", "/consumers",
    "/history", "/dead-letters/failure-groups", "/metrics", "/metrics/queues", "/metrics/settings",
)  # fmt: skip
QUEUE = re.compile(r'href="(/queues/[A-Za-z0-9._-]+)"')
BETWEEN_SECONDS = 1.0
SERVER_ERRORS = 500
AS_ONE_PERSON = 50
"""Pages, before the next login."""


def visit(demo: Demo, over: threading.Event) -> None:
    """Log in, open pages, and leave. Outages are judged elsewhere."""
    get = demo.log_in("admin")
    pages = cycle([*PAGES, *sorted(set(QUEUE.findall(get("/"))))])
    for path, _ in zip(pages, range(AS_ONE_PERSON), strict=False):
        if over.wait(BETWEEN_SECONDS):
            return
        try:
            get(path)
        except urllib.error.HTTPError as error:
            if error.code < SERVER_ERRORS:
                raise
        except OSError:
            continue
