"""manage.py sign_on: link a person of the console to an account at the sign-on provider, or unlink them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from console.access import sessions
from console.access.sign_on import admission
from console.web.wording import plural
from queues.commands import OwnCommand
from queues.errors import InvalidArgument


class Command(OwnCommand):
    help = "Link an existing person to an account at the provider of OIDC_ISSUER, or unlink the person."

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="verb", required=True)
        link = parts.add_parser("link", help="the account with this subject logs in as this person")
        link.add_argument("name", help="user name in the console")
        link.add_argument("subject", help="the claim sub of the account, which the audit shows with a refused login")
        unlink = parts.add_parser("unlink", help="no account at the provider logs in as this person any more")
        unlink.add_argument("name", help="user name in the console")

    def handle(self, *args: Any, verb: str, name: str, subject: str = "", **options: Any) -> None:
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"There is no person called {name}.")
        if verb == "unlink":
            removed = admission.unlink(person, actor="manage.py")
            ended = sessions.end_sessions(person)  # another person may have logged in by the link
            told = f"{name} {'is not linked to an account any more' if removed else 'was not linked to an account'}"
            self.stdout.write(f"{told}; {plural(ended, 'session')} ended.")
            return
        try:
            admission.link(person, subject, actor="manage.py")
        except InvalidArgument as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{subject} comes in as {name} from now on, with the roles that the provider's claims give.")
