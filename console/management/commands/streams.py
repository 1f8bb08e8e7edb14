"""manage.py streams list | rename | delete: streams from a terminal, with the preview that the console shows."""

from argparse import ArgumentParser
from typing import Any

from console.streams.ending_views import find_loss, stays_of
from dlq.discards import discards
from queues.commands import ACTOR, VerbCommand
from queues.control import streams


class Command(VerbCommand):
    help = "List streams, rename one, or delete a closed one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every stream with its tenant, partitions and groups")
        rename = verbs.add_parser("rename", help="rename a stream; the old name stops working at once")
        rename.add_argument("name")
        rename.add_argument("new_name")
        delete = verbs.add_parser("delete", help="permanently delete a closed stream with its messages and groups")
        delete.add_argument("name")
        for changing in (rename, delete):
            changing.add_argument("--check", action="store_true", help="show the changes without making them")
            changing.add_argument("--reason", default="", help="kept in the audit")

    def _list(self, options: dict[str, Any]) -> None:
        for stream, appended in streams.read_streams().appended:
            self.stdout.write(f"{stream.name}\t{stream.tenant.name}\t{stream.partitions}\t{appended}")

    def _rename(self, options: dict[str, Any]) -> None:
        name, new_name = options["name"], options["new_name"]
        lines = stays_of(streams.get_stream(name), new_name, administers=True)
        self.stdout.write("\n  ".join(["Stays:", *lines]))
        if not options["check"]:
            streams.rename_stream(name, new_name, actor=ACTOR, reason=options["reason"])
            self.stdout.write(f"Renamed {name} to {new_name}.")

    def _delete(self, options: dict[str, Any]) -> None:
        name = options["name"]
        loss = find_loss(streams.get_stream(name))
        groups = ", ".join(one.group.name for one in loss.groups) or "none"
        self.stdout.write(f"Messages: up to {loss.positions:,}. Groups: {groups}.")
        if loss.obstacle:
            self.stdout.write(f"In the way: {name} {loss.obstacle}.")
        if not options["check"]:
            told = {"actor": ACTOR, "reason": options["reason"]}
            discard = discards.of_deletion(streams.get_stream(name))
            if not loss.obstacle and (asked := discards.ask(discard, **told)):
                self.stdout.write(f"{asked} awaits approval: nothing is deleted yet.")
                return
            streams.delete_stream(name, **told)
            self.stdout.write(f"The stream {name} is deleted.")
