"""The tables of this room: what they hold is said where it is used."""

from metrics.alerts.models import Alert as Alert
from metrics.alerts.models import Evaluation as Evaluation
from metrics.alerts.models import Notification as Notification
from metrics.alerts.models import Silence as Silence
