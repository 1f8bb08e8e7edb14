"""The tables of this room: what they hold is said where it is used."""

from metrics.alerts.models import Alert as Alert
