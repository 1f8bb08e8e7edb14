"""Grants: roles for some queues. Who has a role by a group has it for all queues, as before."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0002_idempotent_requests"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("grant_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("role", models.CharField(max_length=20)),
                ("tenant_name", models.CharField(help_text="Empty: of all tenants.", max_length=100, null=True)),
                ("queue_prefix", models.CharField(db_default="", default="", max_length=100)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("created_by", models.CharField(max_length=150)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
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
