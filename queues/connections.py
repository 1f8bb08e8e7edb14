"""Connections to Django's database that Django does not own: for workers, upkeep and whoever commits for itself."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.conninfo import make_conninfo

_OF_DJANGO_ONLY = ("cursor_factory", "context", "client_encoding", "prepare_threshold")


def dsn(using: str = DEFAULT_DB_ALIAS) -> str:
    """The libpq connection string of Django's database; starts the embedded server when that is where it lives."""
    wrapper = connections[using]
    if wrapper.connection is None:
        wrapper.ensure_connection()  # starts the server
        wrapper.close()  # and leaves no connection behind in a thread or process that has no other use for it
    parameters = {
        name: value
        for name, value in wrapper.get_connection_params().items()
        if name not in _OF_DJANGO_ONLY and value is not None
    }
    return make_conninfo(**parameters)


def connect(application_name: str, using: str = DEFAULT_DB_ALIAS) -> psycopg.Connection[Any]:
    """A new autocommit connection, seen in pg_stat_activity under this name."""
    return psycopg.connect(dsn(using), autocommit=True, application_name=application_name)
