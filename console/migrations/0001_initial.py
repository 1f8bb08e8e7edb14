"""API keys, answered requests, and the roles that people have for some queues."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


def key(*columns: str) -> models.CompositePrimaryKey:
    """Define a primary key of several columns."""
    return models.CompositePrimaryKey(*columns, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("queues", "0001_initial"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        # The permissions that roles consist of. Access has no table.
        migrations.CreateModel(
            name="Access",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "permissions": (
                    ("see_metadata", "see queues, numbers and message facts"),
                    ("see_payloads", "see payloads, attributes and stacks, and send test messages"),
                    ("redrive", "redrive dead letters"),
                    ("silence", "silence alerts"),
                    ("purge", "purge messages"),
                    ("approve", "decide about what others ask for above the thresholds"),
                    ("reveal", "reveal masked fields"),
                    ("configure", "create, configure, pause and resume queues"),
                    ("administer", "give people their roles"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
        # Keys for programs. The table keeps a hash of each secret; a revoked key frees its name.
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("api_key_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("identifier", models.CharField(max_length=12, unique=True)),
                ("secret_hash", models.BinaryField(max_length=32)),
                ("scopes", models.JSONField(help_text="A list of names, or of * alone.")),
                ("tenant_name", models.CharField(help_text="Empty: of all tenants.", max_length=100, null=True)),
                ("queue_prefix", models.CharField(db_default="", max_length=100)),
                ("rate_per_second", models.FloatField(null=True)),
                ("max_connections", models.IntegerField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("created_by", models.CharField(max_length=150)),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(max_length=150, null=True)),
                ("last_used_at", models.DateTimeField(help_text="To the minute.", null=True)),
            ],
            options={
                "db_table": "api_key",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)), fields=("name",), name="api_key_name"
                    )
                ],
            },
        ),
        # The answers to requests with an Idempotency-Key, kept for a day.
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                ("pk", key("api_key_id", "idempotency_key")),
                ("api_key_id", models.BigIntegerField()),
                ("idempotency_key", models.CharField(max_length=255)),
                ("request_hash", models.BinaryField()),
                ("status", models.SmallIntegerField()),
                ("headers", models.JSONField()),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "idempotent_request",
                "indexes": [models.Index(fields=["created_at"], name="idempotent_request_age")],
            },
        ),
        # Roles for the queues of one tenant or with one prefix. A role for all queues is a group of Django.
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("grant_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("role", models.CharField(max_length=20)),
                ("tenant_name", models.CharField(help_text="Empty: of all tenants.", max_length=100, null=True)),
                ("queue_prefix", models.CharField(db_default="", default="", max_length=100)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("created_by", models.CharField(max_length=150)),
                (
                    "person",
                    models.ForeignKey(on_delete=models.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "db_table": "role_grant",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("person", "role", "tenant_name", "queue_prefix"),
                        name="role_grant_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("tenant_name__isnull", False),
                            models.Q(("queue_prefix", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="role_grant_bounded",
                    ),
                ],
            },
        ),
    ]
