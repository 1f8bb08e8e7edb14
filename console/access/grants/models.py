"""Grants as rows: a person's role for some queues. Roles for all queues are Django groups."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from queues.reach import Bounds


class Grant(models.Model):
    """A grant, written by `console.access.grants.grants`. It names its tenant, which need not exist yet."""

    grant_id = models.BigAutoField(primary_key=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=20)
    tenant_name = models.CharField(max_length=100, null=True, help_text="Empty: of all tenants.")
    queue_prefix = models.CharField(max_length=100, db_default="", default="")
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=150)

    class Meta:
        db_table = "role_grant"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["person", "role", "tenant_name", "queue_prefix"], name="role_grant_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="role_grant_bounded",
                condition=models.Q(tenant_name__isnull=False) | ~models.Q(queue_prefix=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} for {self.bounds}"

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.tenant_name, self.queue_prefix)
