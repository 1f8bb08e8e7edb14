"""API keys as rows. A revoked key stays for the audit; its name can be used again."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from console.access.api_keys.key import IDENTIFIER_CHARACTERS

NAME_CHARACTERS = 100


class ApiKey(models.Model):
    """An API key. `keys` writes it, and `authentication` updates its `last_used_at`."""

    api_key_id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=NAME_CHARACTERS)
    identifier = models.CharField(max_length=IDENTIFIER_CHARACTERS, unique=True)
    secret_hash = models.BinaryField(max_length=32)
    sqs_secret = models.TextField(null=True, help_text="Encrypted, of a key that signs requests; others have none.")
    scopes = models.JSONField(help_text="A list of names, or of * alone.")
    tenant_name = models.CharField(max_length=100, null=True, help_text="Empty: of all tenants.")
    queue_prefix = models.CharField(max_length=100, db_default="")
    rate_per_second = models.FloatField(null=True)
    max_connections = models.IntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=150)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=150, null=True)
    last_used_at = models.DateTimeField(null=True, help_text="To the minute.")
    last_used_with = models.CharField(max_length=200, null=True, help_text="The protocol and the client of that use.")

    class Meta:
        db_table = "api_key"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["name"], name="api_key_name", condition=models.Q(revoked_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"API key {self.name}"

    @property
    def signs(self) -> bool:
        """Return whether the key can sign requests to the SQS endpoint."""
        return self.sqs_secret is not None

    @property
    def state(self) -> str:
        """Return active, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= timezone.now() else "active"

    def summary(self) -> dict[str, Any]:
        """Return facts for the audit and for programs, without the secret."""
        return {
            "key_id": self.api_key_id,
            "key": self.name,
            "identifier": self.identifier,
            "scopes": self.scopes,
            "sqs": self.signs,
            "tenant": self.tenant_name,
            "prefix": self.queue_prefix,
            "rate": self.rate_per_second,
            "connections": self.max_connections,
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
        }
