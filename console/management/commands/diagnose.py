"""manage.py diagnose QUEUE: why a queue has a backlog, from a terminal."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.overview.diagnoses import read_diagnoses
from metrics.diagnosis import Diagnosis
from queues.commands import OwnCommand
from queues.counters.queue_numbers import read_numbers
from queues.models import Queue


class Command(OwnCommand):
    help = "Say why a queue has a backlog, with the numbers that show it, what to do, and what was ruled out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queue")
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        queue_ids = Queue.objects.filter(name=options["queue"]).values_list("queue_id", flat=True)
        numbers = read_numbers(list(queue_ids))
        if not numbers:
            raise CommandError(f"queue {options['queue']!r} does not exist")
        diagnosis = read_diagnoses(numbers)[numbers[0].queue_id]
        self.stdout.write(json.dumps(diagnosis.as_dict(), indent=2) if options["json"] else _text(diagnosis))


def _text(diagnosis: Diagnosis) -> str:
    lines = [diagnosis.sentence]
    for suspect in diagnosis.found:
        if suspect is not diagnosis.main:
            lines.append(f"Also: {suspect.sentence}")
        lines += [f"  {figure.label}: {figure.words}" for figure in suspect.figures]
        lines.append(f"  {suspect.advice}")
    if diagnosis.backlog and not diagnosis.found:
        lines.append(f"  {diagnosis.advice}")
    lines += [f"{sentence}" for sentence in diagnosis.outlook.sentences]
    if diagnosis.ruled_out:
        lines.append("Ruled out:")
        lines += [f"  {suspect.cause.words}: {suspect.sentence}" for suspect in diagnosis.ruled_out]
    return "\n".join(lines).replace("\u00a0", " ")
