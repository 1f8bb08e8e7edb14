"""What every command of ours is: `class Command(OwnCommand)` in a file of `management/commands`."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from queues.checks import SETTINGS


class OwnCommand(BaseCommand):
    """Asks before it runs whether the settings are right.

    Not whether each address, template and model of the console is, as Django's own commands do: that takes as long as
    everything else of most commands. `check` and `migrate` still ask all of it.
    """

    requires_system_checks = (SETTINGS,)
