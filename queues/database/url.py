"""Turn DATABASE_URL into Django's database settings.

libpq's own parser reads the URL, so whatever `psql` accepts works here: TCP, a socket folder
(`postgresql:///name?host=/run/postgresql`), several hosts, and every connection parameter.
"""

from pathlib import Path
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from queues.database.embedded import EmbeddedPostgres

# Tables of the engine and of Django live in our schema; ours comes last in `options` and so wins.
SEARCH_PATH_OPTION = "-c search_path=signalbox,public"

DJANGO_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}

# A server that vanishes without closing connections is noticed within a minute.
NOTICE_SILENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",  # milliseconds
}


class DatabaseUrlError(ValueError):
    """DATABASE_URL cannot be used."""


def database_settings(url: str, home: Path, *, pooled: bool = False) -> dict[str, Any]:
    """Return Django's settings for `url`, or without one for the embedded server in `home` (not started here).

    `pooled`: the URL is that of a pooler in transaction mode.
    """
    if url:
        return through_a_pooler(parse_database_url(url)) if pooled else parse_database_url(url)
    if pooled:
        raise DatabaseUrlError("DATABASE_POOLER is set and DATABASE_URL is empty: set it to the address of the pooler")
    settings = parse_database_url(EmbeddedPostgres(home).url())
    return {**settings, "ENGINE": "queues.database.embedded.backend", "EMBEDDED_HOME": home}


def through_a_pooler(settings: dict[str, Any]) -> dict[str, Any]:
    """Change the settings for a pooler in transaction mode, so that nothing lasts as long as a session.

    The search path is then the role's own (`manage.py migrate` gives it one): a pooler takes no `options`.
    """
    options = settings["OPTIONS"]["options"].removesuffix(SEARCH_PATH_OPTION).strip()
    kept = {name: value for name, value in settings["OPTIONS"].items() if name != "options"}
    return {
        **settings,
        "OPTIONS": {**kept, **({"options": options} if options else {})},
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }


def direct_database_settings(url: str, pooler: str) -> dict[str, Any] | None:
    """Return Django's settings for the address past a pooler; raises DatabaseUrlError without a pooler."""
    if not url:
        return None
    if pooler == "none":
        raise DatabaseUrlError(
            "DATABASE_DIRECT_URL is set without a pooler: set DATABASE_POOLER=transaction, or unset it"
        )
    return parse_database_url(url, "DATABASE_DIRECT_URL") | {"DISABLE_SERVER_SIDE_CURSORS": False}


def broker_url(url: str, home: Path) -> str:
    """Write the URL of the same database as a broker for Celery."""
    address = url or EmbeddedPostgres(home).url()
    return f"signalbox{address[address.index('://') :]}"


def parse_database_url(url: str, setting: str = "DATABASE_URL") -> dict[str, Any]:
    """Parse `url` to Django's settings; raises DatabaseUrlError, which names the setting and never the password."""
    parameters = {name: str(value) for name, value in _read(url, setting).items() if value is not None}
    if "dbname" not in parameters and "service" not in parameters:
        raise DatabaseUrlError(f"{setting} names no database: expected postgresql://user@host/name")
    return settings_of(parameters)


def settings_of(parameters: dict[str, str]) -> dict[str, Any]:
    """Return Django's settings for libpq's parameters."""
    parameters = dict(parameters)
    if not parameters.get("host", "/").startswith("/"):
        parameters = NOTICE_SILENCE | parameters
    options = parameters.get("options", "")
    parameters["options"] = f"{options} {SEARCH_PATH_OPTION}".strip()
    several = "," in parameters.get("host", "") or "," in parameters.get("hostaddr", "")
    named = {django: parameters.pop(libpq, "") for libpq, django in DJANGO_NAMES.items()}
    engine = "queues.database.several_hosts" if several else "django.db.backends.postgresql"
    return {"ENGINE": engine, **named, "OPTIONS": parameters}


def _read(url: str, setting: str) -> dict[str, Any]:
    if not url.startswith(("postgresql://", "postgres://")):
        raise DatabaseUrlError(f"{setting} must start with postgresql://")
    try:
        return dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        # libpq quotes the offending part of the URL, which may hold the password: keep its words only.
        words = str(error).split(":", maxsplit=1)[0].split('"', maxsplit=1)[0].strip()
        raise DatabaseUrlError(f"{setting} cannot be read: {words}") from None
