"""The start of a server on this machine: its port must be free, and its console must answer."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request

from django.conf import settings
from django.core.management.base import CommandError

from console.server.parts import HOST
from console.server.supervisor import Supervisor

READY_SECONDS = 180.0  # long enough for a busy machine


def require_free_port(port: int, host: str = HOST) -> None:
    """Raise CommandError if another process uses the port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} is in use; is Signalbox running already? The variable PORT=8001 takes another."
            ) from error


def wait_until_ready(supervisor: Supervisor, host: str = HOST) -> bool:
    """Wait until the console answers; False when the supervisor is asked to stop first. Raises CommandError."""
    deadline = time.monotonic() + READY_SECONDS
    while not supervisor.stopping.is_set():
        if _answers(HOST if host in ("0.0.0.0", "::") else host):  # noqa: S104 - an address to ask, not to bind
            return True
        if time.monotonic() > deadline:
            raise CommandError(f"The console does not answer; see {settings.SIGNALBOX_HOME / 'logs'}")
        supervisor.stopping.wait(0.2)
    return False


def _answers(host: str) -> bool:
    name = f"[{host}]" if ":" in host else host
    try:
        urllib.request.urlopen(f"http://{name}:{settings.PORT}/login", timeout=2).close()
    except urllib.error.HTTPError:
        return True  # a refusal is an answer
    except OSError:
        return False
    return True
