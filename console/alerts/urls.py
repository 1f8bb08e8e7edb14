"""Addresses of alerts, silences, channels, notifications and runbooks."""

from __future__ import annotations

from django.urls import path

from console.alerts import acknowledge_views, channel_views, silence_views
from console.alerts import views as alerts
from console.alerts.lines import marks_of_alerts
from console.charts import markers
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("alerts", alerts.browse, name="alerts"),
    path("alerts/acknowledge", acknowledge_views.acknowledge, name="alerts_acknowledge"),
    path("alerts/silences", silence_views.browse, name="silences"),
    path("alerts/silences/<row:silence_id>/end", silence_views.end, name="silence_end"),
    path("alerts/channels", channel_views.browse, name="alert_channels"),
    path("alerts/channels/new/<slug:kind>", channel_views.new, name="alert_channel_new"),
    path("alerts/channels/<row:channel_id>", channel_views.edit, name="alert_channel"),
    path("alerts/channels/<row:channel_id>/test", channel_views.test, name="alert_channel_test"),
    path("alerts/channels/<row:channel_id>/remove", channel_views.remove, name="alert_channel_remove"),
    path("alerts/notifications", alerts.notifications, name="alert_notifications"),
    path("alerts/webhook", alerts.webhook, name="alerts_webhook"),
    path("runbooks/<slug:name>", alerts.runbook, name="runbook"),
]

NOUNS = ("alert", "runbook", "silences", "silence")
register(Item(Group.MONITOR, 30, "Alerts", "alerts", "alerts", NOUNS, alerts.firing))
markers.register(marks_of_alerts)
