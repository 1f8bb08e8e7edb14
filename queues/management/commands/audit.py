"""manage.py audit: verify the audit, and export and delete its oldest rows."""

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from queues.audit.chain import Verdict, verify
from queues.audit.pruning import count_due, prune
from queues.commands import ACTOR, VerbCommand
from queues.database.connections import connect
from queues.errors import SignalboxError

AGAIN = "Run `manage.py migrate` to restore them. Find out who changed them, and which rows were written since."


def _noted(text: str) -> tuple[int, str]:
    match = re.fullmatch(r"([0-9]{1,18}):([0-9a-fA-F]{64})", text)
    if match is None:
        raise ArgumentTypeError("give a row's number and its hash, as in 1042:9f86d0…")
    return int(match[1]), match[2]


class Command(VerbCommand):
    help = "Verify or prune the audit. Ends with status 1 when its chain is broken."
    refusals = (SignalboxError, OSError)

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        check = verbs.add_parser("verify", help="walk the chain and name the first row that is wrong")
        check.add_argument(
            "--expect",
            metavar="ROW:HASH",
            type=_noted,
            help="row and hash that an earlier verify printed: finds also a rewritten chain",
        )
        check.add_argument("--json", action="store_true", help="print JSON")
        check.add_argument(
            "--export",
            metavar="FILE",
            type=Path,
            nargs="+",
            default=[],
            help="files of pruned rows: checks them too, up to the row at which the audit begins",
        )
        cut = verbs.add_parser("prune", help="export the oldest rows to files, then delete them")
        cut.add_argument("--days", type=int, help="age of rows to prune, in days (default: AUDIT_RETENTION_DAYS)")
        cut.add_argument("--to", type=Path, metavar="FOLDER", help="folder of the files (default: AUDIT_EXPORT_FOLDER)")
        cut.add_argument("--yes", action="store_true", help="prune the rows (default: only count them)")

    def _prune(self, options: dict[str, Any]) -> None:
        days = settings.AUDIT_RETENTION_DAYS if options["days"] is None else options["days"]
        if days < 1:
            raise CommandError("No retention is set: pass --days, or set AUDIT_RETENTION_DAYS")
        before = timezone.now() - timedelta(days=days)
        folder = options["to"] or Path(settings.AUDIT_EXPORT_FOLDER)
        with connect("signalbox audit prune") as connection:
            if not options["yes"]:
                rows = count_due(connection, before)
                self.stdout.write(
                    f"{rows} rows are older than {days} days. --yes exports them to {folder} and deletes them."
                )
                return
            for path, batch in prune(connection, before, folder, actor=ACTOR):
                through = batch.through.isoformat(timespec="seconds")
                self.stdout.write(f"Rows {batch.first} to {batch.last}, up to {through}, are in {path}.")
            self.stdout.write("Nothing older is left.")

    def _verify(self, options: dict[str, Any]) -> None:
        verdict = verify(options["expect"], options["export"])
        self.stdout.write(json.dumps(_document(verdict), indent=2) if options["json"] else _sentence(verdict))
        if not verdict.intact:
            raise SystemExit(1)


def _document(verdict: Verdict) -> dict[str, Any]:
    bad = {"row": verdict.position, "audit_event_id": verdict.event_id, "complaint": verdict.complaint}
    return {
        "intact": verdict.intact,
        "rows": verdict.last,
        "pruned_through": verdict.pruned,
        "hash": verdict.hash,
        "first_bad": bad if verdict.complaint else None,
        "guards": list(verdict.guards),
    }


def _sentence(verdict: Verdict) -> str:
    lines = [_chain(verdict), *(f"The audit is not guarded as in this release: {guard}." for guard in verdict.guards)]
    return "\n".join([*lines, AGAIN] if verdict.guards else lines)


def _chain(verdict: Verdict) -> str:
    if not verdict.complaint:
        note = f" Note {verdict.last}:{verdict.hash} elsewhere." if verdict.events else ""
        since = f"from row {verdict.pruned + 1} " if verdict.pruned else ""
        return f"The audit is intact {since}up to row {verdict.last}.{note}"
    row = "a row outside the chain" if verdict.position is None else f"row {verdict.position}"
    name = f" (audit_event_id {verdict.event_id})" if verdict.event_id is not None else ""
    return f"The audit is broken: the first bad row is {row}{name}: {verdict.complaint}."
