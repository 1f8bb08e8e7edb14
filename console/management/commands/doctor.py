"""manage.py doctor: what is wrong with this installation, and what to do."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from console.doctor import Finding, examine
from console.doctor.findings import ERROR


class Command(BaseCommand):
    help = "Check the installation, and say what is wrong and what to do. Exit status 1: something is wrong."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = list(examine())
        is_well = all(finding.level != ERROR for finding in findings)
        if options["json"]:
            document = {"ok": is_well, "findings": [finding.as_dict() for finding in findings]}
            self.stdout.write(json.dumps(document, indent=2))
        else:
            for finding in findings:
                self._tell(finding)
        if not is_well:
            sys.exit(1)

    def _tell(self, finding: Finding) -> None:
        self.stdout.write(f"{finding.level:<8} {finding.subject:<12} {finding.sentence}")
        if finding.advice:
            self.stdout.write(f"{'':<8} {'':<12} {finding.advice}")
