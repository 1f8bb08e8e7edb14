"""Models of this app, where Django looks for them; `metrics.alerts.models` describes each."""

from metrics.alerts.models import Alert as Alert
from metrics.alerts.models import AlertChannel as AlertChannel
from metrics.alerts.models import Evaluation as Evaluation
from metrics.alerts.models import Notification as Notification
from metrics.alerts.models import Silence as Silence
