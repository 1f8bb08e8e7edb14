"""Addresses of redrives, plans and approvals."""

from __future__ import annotations

from django.urls import path

from console.charts import markers
from console.redrives import approval_views, plan_views, rule_views
from console.redrives import views as redrives
from console.redrives.jobs import marks_of_redrives
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("redrives", redrives.browse, name="redrives"),
    path("redrives/new", plan_views.new, name="redrive_new"),
    path("redrives/plans", plan_views.browse, name="redrive_plans"),
    path("redrives/plans/<row:plan_id>", plan_views.show, name="redrive_plan"),
    path("redrives/plans/<row:plan_id>/run", plan_views.run, name="redrive_plan_run"),
    path("redrives/<row:redrive_id>", redrives.show, name="redrive"),
    path("redrives/<row:redrive_id>/messages", redrives.messages_of, name="redrive_messages"),
    path("redrives/<row:redrive_id>/pause", redrives.change, {"verb": "pause"}, name="redrive_pause"),
    path("redrives/<row:redrive_id>/resume", redrives.change, {"verb": "resume"}, name="redrive_resume"),
    path("redrives/<row:redrive_id>/cancel", redrives.change, {"verb": "cancel"}, name="redrive_cancel"),
    path("redrives/<row:redrive_id>/rate", redrives.set_rate, name="redrive_rate"),
    path("approvals", approval_views.browse, name="approvals"),
    path("approvals/rules", rule_views.edit, name="approvals_rules"),
    path("approvals/<slug:noun>/<row:job_id>/approve", approval_views.decide, {"verb": "approve"}, name="approve"),
    path("approvals/<slug:noun>/<row:job_id>/refuse", approval_views.decide, {"verb": "refuse"}, name="refuse"),
]

JOBS = ("redrive", "fleet_redrive", "removals", "purge", "deletion", "undos", "undo", "discard", "approvals")
register(
    Item(Group.OPERATE, 10, "Jobs", "redrives", "jobs", JOBS, approval_views.open_jobs),
    Item(Group.OPERATE, 20, "Approvals", "approvals", "approvals", has_line=False),
    Item(Group.ADMIN, 25, "Approval rules", "approvals_rules", "rules"),
)
markers.register(marks_of_redrives)
