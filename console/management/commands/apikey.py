"""manage.py apikey create | list | revoke: keys for the HTTP API and the SQS endpoint, from a terminal."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from console.access.api_keys import SCOPES, SQS_SCOPES, keys
from console.access.api_keys.keys import NewKey
from console.access.api_keys.models import ApiKey
from dlq.filters.readings import MisreadError, duration
from queues.commands import ACTOR, VerbCommand
from queues.errors import SignalboxError

MAX_LISTED = 1_000


class Command(VerbCommand):
    help = "Make keys for the HTTP API and the SQS endpoint, list them, revoke one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create a key; the last line of the output is the key")
        create.add_argument("name", nargs="?", help="name of the program that uses the key, for lists and the audit")
        create.add_argument(
            "--scopes",
            nargs="+",
            metavar="SCOPE",
            help=f"{', '.join(SCOPES)}; * or all: all of them (default with --sqs: {','.join(SQS_SCOPES)})",
        )
        create.add_argument("--sqs", action="store_true", help="a key that also signs requests to the SQS endpoint")
        create.add_argument("--json", action="store_true", help="print one JSON object")
        create.add_argument("--tenant", help="only queues of this tenant (default: of all)")
        create.add_argument("--prefix", default="", help="only queues whose name begins with this (default: all)")
        create.add_argument(
            "--expires", metavar="TIME", help="time until the key expires, such as 12h or 90d (default: never)"
        )
        create.add_argument("--rate", type=float, metavar="N", help="requests per second (default: no limit)")
        create.add_argument(
            "--connections", type=int, metavar="N", help="requests at the same time (default: no limit)"
        )
        create.add_argument("--reason", default="", help="kept in the audit")
        verbs.add_parser("list", help="every key, the newest first").add_argument("--json", action="store_true")
        revoke = verbs.add_parser("revoke", help="revoke a key permanently")
        revoke.add_argument("key", metavar="NAME|ID")
        revoke.add_argument("--reason", default="", help="kept in the audit")

    def sentence_of(self, error: SignalboxError) -> str:
        """Return the text of an error, with the name of its option in front."""
        field = getattr(error, "field", "name")
        return str(error) if field == "name" else f"--{field}: {error}"

    def _create(self, options: dict[str, Any]) -> None:
        name, scopes = _name_and_scopes(options)
        made = keys.create(
            name,
            scopes,
            actor=ACTOR,
            tenant=options["tenant"],
            prefix=options["prefix"],
            expires_in=_life(options["expires"]),
            rate=options["rate"],
            connections=options["connections"],
            sqs=options["sqs"],
            reason=options["reason"],
        )
        if options["json"]:
            self.stdout.write(json.dumps(_made(made)))
            return
        self.stdout.write(_line(made.row))
        if options["sqs"]:
            self.stdout.write(f"endpoint {settings.SQS_URL}")
            self.stdout.write(f"access key id {made.row.identifier}, secret access key {made.secret}")
        self.stdout.write("This is the key. It is not kept, and cannot be shown again:")
        self.stdout.write(made.text)

    def _list(self, options: dict[str, Any]) -> None:
        rows = ApiKey.objects.order_by("-api_key_id")[:MAX_LISTED]
        self.write_rows(rows, options["json"], _line, _as_json)

    def _revoke(self, options: dict[str, Any]) -> None:
        row = keys.find(options["key"])
        if row is None:
            raise CommandError(f"there is no API key {options['key']!r}: manage.py apikey list shows all keys")
        if not keys.revoke(row.pk, actor=ACTOR, reason=options["reason"]):
            raise CommandError(f"nothing was changed: the API key {row.name} was revoked already")
        self.stdout.write(f"revoked {row.pk} {row.name}")


def _name_and_scopes(options: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the name and the scopes. argparse reads a name after the scopes as the last scope."""
    name, scopes = options["name"], list(options["scopes"] or (SQS_SCOPES if options["sqs"] else ()))
    if not scopes:
        raise CommandError("--scopes is missing: manage.py apikey create NAME --scopes SCOPE,...")
    if name is None and options["scopes"] and len(scopes) > 1:
        name = scopes.pop()
    if name is None:
        raise CommandError("name is missing: manage.py apikey create NAME --scopes SCOPE,...")
    return name, scopes


def _life(text: str | None) -> timedelta | None:
    if text is None:
        return None
    try:
        return duration(text)
    except MisreadError as error:
        raise CommandError(f"--expires is {text!r}: it must be {error}") from error


def _line(row: ApiKey) -> str:
    limits = [f"{row.rate_per_second:g}/s"] if row.rate_per_second else []
    limits += [f"{row.max_connections} at once"] if row.max_connections else []
    return "  ".join(
        [
            f"{row.pk} {row.name} {row.state}",
            f"scopes {','.join(row.scopes)}",
            f"tenant {row.tenant_name or 'any'}",
            f"queues {row.queue_prefix}*",
            f"expires {row.expires_at.isoformat(timespec='minutes') if row.expires_at else 'never'}",
            f"used {row.last_used_at.isoformat(timespec='minutes') if row.last_used_at else 'never'}",
            *limits,
        ]
    )


def _made(made: NewKey) -> dict[str, Any]:
    """Return a new key with its secret, which is printed only now."""
    signs = {
        "access_key_id": made.row.identifier,
        "secret_access_key": made.secret,
        "endpoint_url": settings.SQS_URL,
    }
    return _as_json(made.row) | {"api_key": made.text} | (signs if made.row.signs else {})


def _as_json(row: ApiKey) -> dict[str, Any]:
    times = ("created_at", "revoked_at", "last_used_at")
    told = {name: moment.isoformat() if (moment := getattr(row, name)) else None for name in times}
    return (
        row.summary()
        | {
            "last_used_with": row.last_used_with,
            "state": row.state,
            "created_by": row.created_by,
            "revoked_by": row.revoked_by,
        }
        | told
    )
