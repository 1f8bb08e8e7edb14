"""Receiver of webhooks, written as docs/operate/alerts-without-prometheus.md describes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """Received requests, and their answers: the next of `answers`, then 204."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    arrived: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Receiver that listens on a port of its own until the block ends."""
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.arrived.append((dict(self.headers), body))
            self.send_response(received.answers.pop(0) if received.answers else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - what a client would do that follows a redirect

        def log_message(self, *args: object) -> None:
            """Write no log lines to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
