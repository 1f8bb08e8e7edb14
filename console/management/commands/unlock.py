"""manage.py unlock: let in a person who gave too many wrong passwords, or who lost the device with the codes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from console.access import lockout, sessions
from console.access import second_factor as factors
from console.web.wording import plural
from queues.commands import OwnCommand


class Command(OwnCommand):
    help = "Unlock a name after too many wrong passwords, so that the person can try again at once, from everywhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name that the person logs in with")
        parser.add_argument(
            "--second-factor", action="store_true", help="also remove the second factor; the person can set up another"
        )

    def handle(self, *args: Any, name: str, second_factor: bool = False, **options: Any) -> None:
        removed = lockout.unlock(name, actor="manage.py")
        self.stdout.write(f"{name} may try again: {plural(removed, 'record')} of wrong passwords removed.")
        if not second_factor:
            return
        person = get_user_model().objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"There is no person called {name}.")
        had_device = factors.remove(person, actor="manage.py")
        ended = sessions.end_sessions(person)  # a lost device may have an open session
        told = f"{name} {'needs no code any more' if had_device else 'had no second factor'}"
        self.stdout.write(f"{told}; {plural(ended, 'session')} ended.")
