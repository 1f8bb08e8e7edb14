"""manage.py unlock: let in somebody who gave too many wrong passwords, or who lost the device with the codes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from console import attempts, ending
from console import second_factor as factors
from console.wording import plural
from queues.commands import OwnCommand


class Command(OwnCommand):
    help = "Lets a name that is locked after too many wrong passwords try again at once, from everywhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name that somebody logs in with")
        parser.add_argument(
            "--second-factor", action="store_true", help="also forget their device; a new one may follow"
        )

    def handle(self, *args: Any, name: str, second_factor: bool = False, **options: Any) -> None:
        removed = attempts.unlock(name, actor="manage.py")
        self.stdout.write(f"{name} may try again: {plural(removed, 'record')} of wrong passwords removed.")
        if second_factor:
            self._forget_device(name)

    def _forget_device(self, name: str) -> None:
        person = get_user_model().objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"There is no person called {name}.")
        removed = factors.remove(person, actor="manage.py")
        ended = ending.end_sessions(person)  # the device that is gone may hold one
        told = f"{name} {'needs no code any more' if removed else 'had no second factor'}"
        self.stdout.write(f"{told}; {plural(ended, 'session')} ended.")
