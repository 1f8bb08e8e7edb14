"""manage.py recount: compare the counters of queues with their rows, and correct them."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from queues.commands import ACTOR, OwnCommand
from queues.counters.recount import Count, recount, repair
from queues.errors import SignalboxError

_LINE = "{:<32} {:<24} {:<10} {:>12} {:>12} {:>8}"


class Command(OwnCommand):
    help = "Compare counters with a recount, row by row. Ends with status 1 when they drifted and were not repaired."
    refusals = (SignalboxError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", help="this queue only (default: all)")
        parser.add_argument("--json", action="store_true", help="print every number as JSON, drifted or not")
        parser.add_argument("--repair", action="store_true", help="correct the counters; old numbers go to the audit")
        parser.add_argument("--reason", default="", help="why, for the audit")

    def handle(self, *args: Any, **options: Any) -> None:
        counts = recount(options["queue"])
        drifted = [count for count in counts if count.drift]
        if options["repair"]:
            for name in sorted({count.queue for count in drifted}):
                repair(name, actor=ACTOR, reason=options["reason"])
        self._say(counts, drifted, options)
        if drifted and not options["repair"]:
            raise SystemExit(1)

    def _say(self, counts: list[Count], drifted: list[Count], options: dict[str, Any]) -> None:
        if options["json"]:
            rows = [asdict(count) | {"drift": count.drift} for count in counts]
            self.stdout.write(json.dumps({"counts": rows, "repaired": bool(drifted and options["repair"])}, indent=2))
            return
        queues = len({count.queue for count in counts})
        if not drifted:
            self.stdout.write(f"The counters of {queues} queues match their rows.")
            return
        self.stdout.write(_LINE.format("queue", "lane", "state", "counted", "recounted", "drift"))
        for count in drifted:
            lane = "" if count.lane is None else count.lane
            self.stdout.write(
                _LINE.format(count.queue, lane[:24], count.state, count.counted, count.recounted, f"{count.drift:+d}")
            )
        self.stdout.write("Repaired." if options["repair"] else "Nothing was changed; --repair corrects the counters.")
