"""The anchor of the console's permissions, which has no table, and models that are told of elsewhere."""

from __future__ import annotations

from django.db import models

from console.api.idempotent_requests import IdempotentRequest as IdempotentRequest
from console.api_keys.models import ApiKey as ApiKey
from console.grants.models import Grant as Grant
from console.roles import PERMISSIONS


class Access(models.Model):
    """What a person may do here; `console.roles` bundles it into groups."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = tuple(PERMISSIONS.items())

    def __str__(self) -> str:
        return "access to the console"
