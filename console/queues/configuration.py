"""manage.py queues export | apply: the configuration as a file, with a plan of what would change before it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError

from console.web.wording import plural
from queues.commands import ACTOR
from queues.control.as_code import applying, document
from queues.control.as_code.applying import Change, Changes
from queues.errors import InvalidArgument, QueueNotFound

DIFFERS = 1
"""Exit status of `--check` if something would change."""
NOT_AGREED = 2

SIGNS = {"create": "+", "change": "~", "quota": "~", "delete": "-"}


def add_arguments(verbs: Any) -> None:
    """Add the verbs export and apply to the parser of `manage.py queues`."""
    export = verbs.add_parser("export", help="print queues and quotas as YAML, without defaults")
    export.add_argument(
        "--queue", action="append", default=[], metavar="NAME", help="only these queues, without quotas"
    )
    export.set_defaults(run=write)
    apply = verbs.add_parser("apply", help="change queues and quotas to match a file; shows the plan and asks")
    apply.add_argument("file", help="a file that export wrote, or - for standard input")
    apply.add_argument("--check", action="store_true", help="only show the plan; exits with 1 if it has changes")
    apply.add_argument("--yes", action="store_true", help="apply without asking")
    apply.add_argument("--prune", action="store_true", help="also delete empty queues that the file does not name")
    apply.add_argument("--reason", default="", help="kept in the audit")
    apply.add_argument("--json", action="store_true", help="print the plan as JSON")
    apply.set_defaults(run=change)


def write(out: Any, options: dict[str, Any]) -> None:
    """Write the configuration as YAML. Raises `QueueNotFound` if a named queue does not exist."""
    found = document.read()
    if chosen := options["queue"]:
        if missing := [name for name in chosen if name not in found.queues]:
            raise QueueNotFound(f"queue '{missing[0]}' does not exist")
        found = replace(found, tenants={}, queues={name: found.queues[name] for name in sorted(set(chosen))})
    out.write(document.write(found), ending="")


def change(out: Any, options: dict[str, Any]) -> None:
    """Plan the changes, show them, ask, and apply them. Raises `SignalboxError` if nothing can be changed.

    Raises CommandError if everything was applied except the deletion of some queues.
    """
    wanted = document.parse(_text(options["file"]))
    planned = applying.plan(wanted, prune=options["prune"])
    out.write(_as_json(planned) if options["json"] else "\n".join(_lines(planned, options["prune"])))
    if options["check"]:
        sys.exit(DIFFERS if planned.changes else 0)
    if not planned.changes:
        return
    if not (options["yes"] or _agreed(sys.stdin, out)):
        out.write("Nothing was changed.")
        sys.exit(NOT_AGREED)
    applying.apply(wanted, planned, prune=options["prune"], actor=ACTOR, reason=options["reason"])
    deleted = applying.delete(planned, actor=ACTOR, reason=options["reason"])
    if kept := [f"{name}: {why}" for name, why in deleted if why]:
        raise CommandError("Everything else is done. Not deleted: " + "; ".join(kept))
    out.write("Done.")


def _text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"the file {name} cannot be read: {error}", field="file") from None


def _agreed(source: TextIO, out: Any) -> bool:
    """Ask at the terminal, and return whether the answer is yes. Without a terminal, return False."""
    if not source.isatty():
        out.write("There is no terminal to ask. Use --yes.")
        return False
    out.write("Apply? [y/N] ", ending="")
    out.flush()
    return source.readline().strip().lower() in ("y", "yes")


def _lines(planned: Changes, prune: bool) -> Iterator[str]:
    for change in planned.changes:
        yield f"{SIGNS[change.kind]} {_subject(change)}"
        for name, (before, after) in change.values.items():
            was = "" if change.kind == "create" else f" (was {json.dumps(before)})"
            yield f"    {name}: {json.dumps(after)}{was}"
    if planned.undeclared and not prune:
        shown = ", ".join(planned.undeclared[:5]) + (", …" if len(planned.undeclared) > 5 else "")
        yield f"Not in the file, and left unchanged (--prune deletes the empty ones): {shown}"
    kinds = [change.kind for change in planned.changes]
    made, deleted = kinds.count("create"), kinds.count("delete")
    totals = f"{made} to make, {len(kinds) - made - deleted} to change, {deleted} to delete"
    yield f"{totals}; {plural(planned.unchanged, 'queue')} as declared."


def _subject(change: Change) -> str:
    if change.kind == "quota":
        return f"tenant {change.name}"
    return f"queue {change.name}" + (f" (tenant {change.queue.tenant})" if change.queue else "")


def _as_json(planned: Changes) -> str:
    changes = []
    for change in planned.changes:
        values = {name: {"before": before, "after": after} for name, (before, after) in change.values.items()}
        changes.append({"kind": change.kind, "name": change.name, "values": values})
    body = {"changes": changes, "unchanged": planned.unchanged, "undeclared": planned.undeclared}
    return json.dumps(body, indent=2)
