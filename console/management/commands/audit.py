"""manage.py audit: whether the record of what people did is what was written."""

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from queues.audit import Verdict, verify


def _noted(text: str) -> tuple[int, str]:
    found = re.fullmatch(r"([0-9]{1,18}):([0-9a-fA-F]{64})", text)
    if found is None:
        raise ArgumentTypeError("it must be a row's number and its hash, as in 1042:9f86d0…")
    return int(found[1]), found[2]


class Command(BaseCommand):
    help = "Look after the audit. Ends with status 1 when its chain is broken."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        look = verbs.add_parser("verify", help="walk the chain and name the first row that is wrong")
        look.add_argument(
            "--expect",
            metavar="ROW:HASH",
            type=_noted,
            help="what an earlier verify printed: finds also a chain that was written anew",
        )
        look.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        verdict = verify(options["expect"])
        self.stdout.write(json.dumps(_document(verdict), indent=2) if options["json"] else _sentence(verdict))
        if not verdict.intact:
            raise SystemExit(1)


def _document(verdict: Verdict) -> dict[str, Any]:
    bad = {"row": verdict.position, "audit_event_id": verdict.event_id, "complaint": verdict.complaint}
    return {
        "intact": verdict.intact,
        "rows": verdict.events,
        "hash": verdict.hash,
        "first_bad": None if verdict.intact else bad,
    }


def _sentence(verdict: Verdict) -> str:
    if verdict.intact:
        note = f" Note {verdict.events}:{verdict.hash} elsewhere." if verdict.events else ""
        return f"The audit is intact up to row {verdict.events}.{note}"
    row = "a row outside the chain" if verdict.position is None else f"row {verdict.position}"
    name = f" (audit_event_id {verdict.event_id})" if verdict.event_id is not None else ""
    return f"The audit is broken: the first bad row is {row}{name}: {verdict.complaint}."
