"""manage.py grant give | take | list: roles for some queues, from a terminal."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from console.access.grants import grants
from console.access.grants.models import Grant
from console.access.roles import ROLES
from queues.commands import ACTOR, VerbCommand

MAX_LISTED = 10_000


class Command(VerbCommand):
    help = "Give a person a role for some queues, revoke it, and list grants."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        give = verbs.add_parser("give", help="give a role for a tenant's queues, or for those whose names begin so")
        give.add_argument("person")
        give.add_argument("role", help=", ".join(ROLES))
        give.add_argument("--tenant", help="only queues of this tenant (default: of all)")
        give.add_argument("--prefix", default="", help="only queues whose name begins with this (default: all)")
        give.add_argument("--reason", default="", help="kept in the audit")
        take = verbs.add_parser("take", help="revoke a grant, by its number in the list")
        take.add_argument("grant_id", type=int, metavar="ID")
        take.add_argument("--reason", default="", help="kept in the audit")
        listed = verbs.add_parser("list", help="every grant, person by person")
        listed.add_argument("--json", action="store_true")

    def _give(self, options: dict[str, Any]) -> None:
        person = User.objects.filter(username=options["person"]).first()
        if person is None:
            raise CommandError(f"there is no person {options['person']!r}")
        bounds = {"tenant": options["tenant"], "prefix": options["prefix"]}
        given = grants.give(person, options["role"], actor=ACTOR, reason=options["reason"], **bounds)
        self.stdout.write(_line(given))

    def _take(self, options: dict[str, Any]) -> None:
        taken = grants.take(options["grant_id"], actor=ACTOR, reason=options["reason"])
        if taken is None:
            raise CommandError(f"there is no grant {options['grant_id']}: manage.py grant list shows all grants")
        self.stdout.write(f"taken: {taken.person.get_username()} is no longer {taken}")

    def _list(self, options: dict[str, Any]) -> None:
        rows = Grant.objects.select_related("person").order_by("person__username", "grant_id")[:MAX_LISTED]
        self.write_rows(rows, options["json"], _line, _as_json)


def _line(row: Grant) -> str:
    return f"{row.pk} {row.person.get_username()} is {row}"


def _as_json(row: Grant) -> dict[str, Any]:
    return {
        "grant_id": row.pk,
        "person": row.person.get_username(),
        "role": row.role,
        "tenant": row.tenant_name,
        "prefix": row.queue_prefix,
        "created_at": row.created_at.isoformat(),
        "created_by": row.created_by,
    }
