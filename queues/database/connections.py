"""Connections to Django's database outside of Django: for workers, upkeep and code that commits by itself.

Behind a pooler in transaction mode there are two ways to the database: through it, and, where DATABASE_DIRECT_URL names
one, past it, for what needs a session.
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.conninfo import make_conninfo

from queues.errors import SignalboxError
from signalbox.connections import pooling, primary_selection

UPKEEP = "signalbox upkeep"
"""The beginning of the application_name of upkeep's sessions."""
_OF_DJANGO_ONLY = ("cursor_factory", "context", "client_encoding", "prepare_threshold")


class NoSession(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """A session of its own is needed, which a pooler in transaction mode does not give: set DATABASE_DIRECT_URL."""


def dsn(using: str = DEFAULT_DB_ALIAS) -> str:
    """Return the libpq connection string of Django's database; starts the embedded server if it is that."""
    wrapper = connections[using]
    if wrapper.connection is None and "EMBEDDED_HOME" in wrapper.settings_dict:
        wrapper.ensure_connection()  # starts the server
        wrapper.close()  # this thread may not need the connection
    return _conninfo(wrapper)


def session_dsn(using: str = DEFAULT_DB_ALIAS) -> str:
    """Return the DSN of a connection that has a session of its own. Raises NoSession where there is none."""
    if (direct := listening_dsn(using)) is None:
        raise NoSession
    return direct


def listening_dsn(using: str = DEFAULT_DB_ALIAS) -> str | None:
    """Return the DSN for listening; None behind a pooler with no way past it."""
    return address(using) if pooling.is_pooled() else dsn(using)


def address(using: str = DEFAULT_DB_ALIAS) -> str | None:
    """Return what `listening_dsn` does, without starting a server or asking one."""
    wrapper = connections[using]
    if pooling.is_pooled():
        if not settings.DIRECT_DATABASE:
            return None
        # A wrapper of Django's that leads past the pooler; it is asked for parameters only.
        wrapper = type(wrapper)({**wrapper.settings_dict, **settings.DIRECT_DATABASE}, using)
    return _conninfo(wrapper)


def connect(application_name: str, using: str = DEFAULT_DB_ALIAS) -> psycopg.Connection[Any]:
    """Open an autocommit connection with this application_name; past the pooler where DATABASE_DIRECT_URL is set."""
    direct = listening_dsn(using)
    options: dict[str, Any] = {"autocommit": True, "application_name": application_name}
    if direct is None:
        return primary_selection.connect(dsn(using), **pooling.prepared(options))
    return primary_selection.connect(direct, **options)


def lead_past_the_pooler(using: str = DEFAULT_DB_ALIAS) -> None:
    """Connect Django past the pooler for the rest of this process, so that it has a session. Raises NoSession."""
    if not pooling.is_pooled():
        return
    if not settings.DIRECT_DATABASE:
        raise NoSession
    connections[using].close()
    connections[using].settings_dict.update(settings.DIRECT_DATABASE)


def _conninfo(wrapper: Any) -> str:
    parameters = {
        name: value
        for name, value in wrapper.get_connection_params().items()
        if name not in _OF_DJANGO_ONLY and value is not None
    }
    return make_conninfo(**parameters)
