"""The anchor of the console's permissions, which has no table, and the models of its rooms."""

from __future__ import annotations

from django.db import models

from console.access.api_keys.models import ApiKey as ApiKey
from console.access.grants.models import Grant as Grant
from console.access.roles import PERMISSIONS
from console.api.core.idempotency_models import IdempotentRequest as IdempotentRequest
from console.api.sqs.queues.models import SqsQueue as SqsQueue


class Access(models.Model):
    """The permissions of people here; `console.access.roles` bundles them into groups."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = tuple(PERMISSIONS.items())

    def __str__(self) -> str:
        return "access to the console"
