"""Registration of the scheme `signalbox://` with kombu, done by importing this module.

Kombu has a table of transports and no entry point for them, but it loads the entry points of serializers before a
Celery application connects. Signalbox therefore declares a serializer (plain JSON under another name): when kombu loads
it, it imports this module. A checkout has no entry points: import `signalbox.celery` there.
"""

import json
from typing import Any

from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES

SCHEME = "signalbox"


class Port:
    """The attribute `port` of kombu's connections, which is read from the address if the scheme is `signalbox`.

    Kombu does not parse such an address: the whole address is in `hostname`, and `port` is empty. The port is read at
    each access and not stored, since kombu would use a stored port for the next address of a list.
    """

    def __get__(self, connection: Any, owner: type | None = None) -> int | None:
        if connection is None:
            return None
        address = getattr(connection, "hostname", None) or ""
        return port_of(address) if _is_ours(address) else vars(connection).get("port")

    def __set__(self, connection: Any, port: int | None) -> None:
        vars(connection)["port"] = None if _is_ours(connection.hostname or "") else port


def _is_ours(address: str) -> bool:
    return address.startswith(f"{SCHEME}://")


def port_of(address: str) -> int | None:
    """Read the port of an address; None without one, with several, or where libpq cannot read the address."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        port = conninfo_to_dict(f"postgresql{address.removeprefix(SCHEME)}").get("port")
    except ProgrammingError:
        return None
    return int(port) if isinstance(port, str) and port.isdecimal() else None


TRANSPORT_ALIASES[SCHEME] = "signalbox.celery.transport:Transport"
Connection.port = Port()

#: Encoder, decoder, content type and encoding, as kombu registers them.
serializer = (json.dumps, json.loads, "application/x-signalbox-json", "utf-8")
