"""The options of a read or a write, each checked before any connection: an error names the wrong one.

Spark passes options as text, with names in any case.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from signalbox.connections import pooling, primary_selection
from signalbox.connections.connecting import is_server
from signalbox.errors import InvalidArgument

Places = str | dict[int, int]
"""A point in a stream: "earliest", "latest", or a position for each named partition."""

CONNECT_SECONDS = 10
OF_SPARK = frozenset({"path", "checkpointlocation", "querystarttimestamp", "spark.sql.sources.default"})
"""The options that methods of Spark add to a reader or a writer, which are ignored."""


@dataclass(frozen=True)
class Target:
    """The target of a read or write: a queue or a stream of a database."""

    queue: str | None
    stream: str | None
    url: str | None = field(default=None, repr=False)
    """The address, which may hold a password, so no text shows it. None: SIGNALBOX_URL of the machine that connects."""

    def __str__(self) -> str:
        return f"queue {self.queue!r}" if self.queue is not None else f"stream {self.stream!r}"

    def dsn(self, application_name: str, **settings: object) -> str:
        """The connection string, with these settings of the session unless it has its own.

        Among several hosts the primary is found first, since the driver for Arrow cannot choose.
        """
        address = self.url or os.environ.get("SIGNALBOX_URL") or pooling.session_dsn(os.environ.get("DATABASE_URL", ""))
        if not address:
            raise InvalidArgument(
                "url is missing: name the database, or set SIGNALBOX_URL where tasks run", field="url"
            )
        parameters = _parameters(primary_selection.address_of_one(address))
        ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
        theirs = str(parameters.pop("options", None) or "")
        parameters["options"] = f"{ours} {theirs}".strip()
        parameters.setdefault("application_name", application_name)
        parameters.setdefault("connect_timeout", CONNECT_SECONDS)
        return make_conninfo("", **parameters)


class Options:
    """The options of one read or write; `finish` refuses unknown ones."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        self._known = set(OF_SPARK)

    def text(self, name: str) -> str | None:
        """The value of an option; None without one."""
        self._known.add(name)
        return self._given.get(name) or None

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Read a whole number within a range."""
        if (value := self.text(name)) is None:
            return default
        if not (value.strip().isdecimal() and low <= int(value) <= high):
            raise InvalidArgument(
                f"{name} is {value[:40]!r}: it must be a whole number from {low} to {high}", field=name
            )
        return int(value)

    def flag(self, name: str) -> bool:
        """Read true or false; the default is false."""
        value = (self.text(name) or "false").lower()
        if value not in ("true", "false"):
            raise InvalidArgument(f"{name} is {value[:40]!r}: it must be true or false", field=name)
        return value == "true"

    def words(self, name: str, choices: tuple[str, ...]) -> tuple[str, ...]:
        """Read a list of words, separated by commas; the default is all allowed words."""
        if (value := self.text(name)) is None:
            return choices
        words = tuple(dict.fromkeys(word.strip() for word in value.split(",")))
        for word in words:
            if word not in choices:
                raise InvalidArgument(f"{name} has {word[:80]!r}; allowed: {', '.join(choices)}", field=name)
        return words

    def moment(self, name: str) -> datetime | None:
        """Read a time with its zone, in ISO 8601."""
        if (value := self.text(name)) is None:
            return None
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            raise InvalidArgument(
                f"{name} is {value[:40]!r}: it must be a time with its zone, as 2026-11-21T08:00:00Z", field=name
            )
        return time

    def places(self, name: str, default: str) -> Places:
        """Read a point in a stream: earliest, latest, or positions such as {"0": 41, "1": 7}."""
        value = self.text(name) or default
        if value in ("earliest", "latest"):
            return value
        try:
            read = json.loads(value)
            places = {int(partition): position for partition, position in read.items()}
            good = all(type(position) is int and position >= 0 for position in places.values())
        except (ValueError, AttributeError):
            good = False
        if not good:
            raise InvalidArgument(
                f'{name} is {value[:80]!r}: it must be earliest, latest, or positions as {{"0": 41, "1": 7}}',
                field=name,
            )
        return places

    def target(self) -> Target:
        """Read the queue or the stream of the options."""
        queue, stream, url = self.text("queue"), self.text("stream"), self.text("url")
        if (queue is None) == (stream is None):
            raise InvalidArgument(
                "name either a queue or a stream: option('queue', ...) or option('stream', ...)", field="queue"
            )
        if url is not None:
            _parameters(url)
        return Target(queue, stream, url)

    def finish(self) -> None:
        """Refuse unknown options: a misspelt one would have no effect."""
        for name in sorted(set(self._given) - self._known):
            known = ", ".join(sorted(self._known - OF_SPARK))
            raise InvalidArgument(f"{name[:80]} is not an option; allowed: {known}", field=name)


def _parameters(url: str) -> dict[str, str | int | None]:
    """The parameters of a connection string; errors do not quote its text, which may hold a password."""
    if is_server(url):
        raise InvalidArgument("url must be a database's (postgresql://...): tasks speak to PostgreSQL", field="url")
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise InvalidArgument("url is not a connection string of PostgreSQL", field="url") from None
