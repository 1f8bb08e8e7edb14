"""The table of requests with an Idempotency-Key and their answers. Only `idempotency.py` writes it."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class IdempotentRequest(models.Model):
    """A request that took effect, kept for a day. The row commits with the effect."""

    pk = models.CompositePrimaryKey("api_key_id", "idempotency_key")
    api_key_id = models.BigIntegerField()
    idempotency_key = models.CharField(max_length=255)
    request_hash = models.BinaryField()
    status = models.SmallIntegerField()
    headers = models.JSONField()
    content = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "idempotent_request"
        indexes = [models.Index(fields=["created_at"], name="idempotent_request_age")]

    def __str__(self) -> str:
        return f"{self.idempotency_key} of key {self.api_key_id}"
