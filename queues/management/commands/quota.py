"""manage.py quota show | set: show or change the quotas of a tenant."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from queues.commands import ACTOR, VerbCommand
from queues.control.quotas import get_tenant, set_quota
from queues.settings import QUOTAS


class Command(VerbCommand):
    help = "Show the quotas of a tenant, or set some of them; 0 is no limit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="the quotas of a tenant")
        show.add_argument("tenant", help="name of the tenant")
        show.add_argument("--json", action="store_true", help="print JSON")
        change = verbs.add_parser("set", help="set some of them")
        change.add_argument("tenant", help="name of the tenant")
        change.add_argument("quotas", nargs="+", metavar="NAME=VALUE", help=", ".join(QUOTAS))
        change.add_argument("--reason", default="", help="kept in the audit")

    def _show(self, options: dict[str, Any]) -> None:
        tenant = get_tenant(options["tenant"])
        shown = {name: getattr(tenant, name) for name in QUOTAS}
        if options["json"]:
            self.stdout.write(json.dumps(shown, indent=2))
            return
        for name, value in shown.items():
            self.stdout.write(f"{name}: {value or 'no limit'}")

    def _set(self, options: dict[str, Any]) -> None:
        quotas = dict(_parse(text) for text in options["quotas"])
        tenant = set_quota(options["tenant"], quotas, actor=ACTOR, reason=options["reason"])
        self.stdout.write(f"{tenant.name}: " + ", ".join(f"{name} {getattr(tenant, name)}" for name in quotas))


def _parse(text: str) -> tuple[str, float | int]:
    name, separator, value = text.partition("=")
    if not separator:
        raise CommandError(f"{text!r} is no quota: write NAME=VALUE")
    try:
        return name, float(value) if "." in value else int(value)
    except ValueError:
        raise CommandError(f"{name} is {value!r}: it must be a number") from None
