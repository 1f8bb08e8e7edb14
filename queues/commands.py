"""Bases of this project's commands: `class Command(OwnCommand)` in a file of `management/commands`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError

from queues.database.checks import SETTINGS
from queues.errors import SignalboxError

ACTOR = "manage.py"
"""The actor that the audit records for commands."""
Row = TypeVar("Row")


class OwnCommand(BaseCommand):
    """A command that checks the settings before it runs.

    It does not check each address, template and model of the console, as Django's own commands do: that takes as long
    as everything else of most commands. `check` and `migrate` still check all of them.
    """

    requires_system_checks = (SETTINGS,)
    refusals: tuple[type[Exception], ...] = ()
    """Errors that end the command with their text."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except self.refusals as error:
            raise CommandError(self.sentence_of(error)) from error

    def sentence_of(self, error: Any) -> str:
        """The sentence that the command ends with."""
        return str(error)


class VerbCommand(OwnCommand):
    """A command with verbs: the parser of each names a method `_<verb>`, or a function as its default `run`."""

    refusals: tuple[type[Exception], ...] = (SignalboxError,)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the verb; a refusal ends the command with its sentence."""
        if run := options.get("run"):
            run(self.stdout, options)
        else:
            getattr(self, f"_{options['verb']}")(options)

    def write_rows(
        self, rows: Iterable[Row], as_json: bool, line: Callable[[Row], str], document: Callable[[Row], Any]
    ) -> None:
        """Write a list: for programs as JSON, for people a line a row."""
        if as_json:
            self.stdout.write(json.dumps([document(row) for row in rows], indent=2))
            return
        for row in rows:
            self.stdout.write(line(row))
