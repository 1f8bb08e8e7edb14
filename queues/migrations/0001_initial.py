"""The control plane: tenants, queues, the audit and maintenance mode."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        # Tenants: owners of queues and streams, with their quotas. 0 means no limit.
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("tenant_id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("max_backlog_messages", models.BigIntegerField(db_default=0)),
                ("max_backlog_bytes", models.BigIntegerField(db_default=0)),
                ("max_oldest_age_seconds", models.FloatField(db_default=0.0)),
                ("max_in_flight", models.BigIntegerField(db_default=0)),
                ("publish_rate_per_second", models.FloatField(db_default=0.0)),
                ("max_queues", models.BigIntegerField(db_default=0)),
                ("max_retention_seconds", models.FloatField(db_default=0.0)),
                ("max_long_polls", models.BigIntegerField(db_default=0)),
            ],
            options={"db_table": "tenant"},
        ),
        # Queues and their settings. The columns are in the order in which the engine's functions were measured.
        migrations.CreateModel(
            name="Queue",
            fields=[
                ("queue_id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("is_dead_letter_queue", models.BooleanField(db_default=False)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("visibility_timeout_seconds", models.FloatField(db_default=30.0)),
                ("max_receives", models.BigIntegerField(db_default=5)),
                ("dead_letter_queue", models.CharField(max_length=100, null=True)),
                ("retention_seconds", models.FloatField(db_default=345600.0)),
                ("delay_seconds", models.FloatField(db_default=0.0)),
                ("mode", models.CharField(db_default="standard", max_length=20)),
                ("backoff_base_seconds", models.FloatField(db_default=5.0)),
                ("backoff_cap_seconds", models.FloatField(db_default=3600.0)),
                ("jitter", models.FloatField(db_default=0.2)),
                ("aging_seconds", models.FloatField(db_default=60.0)),
                ("dedup_window_seconds", models.FloatField(db_default=300.0)),
                ("max_payload_bytes", models.BigIntegerField(db_default=262144)),
                ("paused", models.BooleanField(db_default=False)),
                ("closed", models.BooleanField(db_default=False)),
                ("alert_oldest_age_seconds", models.FloatField(db_default=300.0)),
                ("alert_dead_letters", models.BigIntegerField(db_default=0)),
                ("paused_at", models.DateTimeField(null=True)),
                ("paused_by", models.CharField(max_length=150, null=True)),
                ("paused_reason", models.CharField(max_length=500, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_default=models.Value(1), on_delete=models.PROTECT, related_name="queues", to="queues.tenant"
                    ),
                ),
                ("group_max_in_flight", models.BigIntegerField(db_default=0)),
                ("group_release_interval_seconds", models.FloatField(db_default=0.0)),
                ("max_backlog_messages", models.BigIntegerField(db_default=0)),
                ("max_backlog_bytes", models.BigIntegerField(db_default=0)),
                ("max_oldest_age_seconds", models.FloatField(db_default=0.0)),
                ("max_in_flight", models.BigIntegerField(db_default=0)),
                ("publish_rate_per_second", models.FloatField(db_default=0.0)),
                ("dedup_scope", models.CharField(db_default="window", max_length=20)),
                ("admission_flags", models.SmallIntegerField(db_default=0)),
                ("group_max_waiting", models.BigIntegerField(db_default=0)),
                ("warn_every_seconds", models.FloatField(db_default=600.0)),
                ("fifo_block_on_dead_letter", models.BooleanField(db_default=False)),
                ("wait_target_seconds", models.FloatField(db_default=60.0)),
                ("wait_target_ratio", models.FloatField(db_default=0.99)),
                ("alert_dead_letters_per_minute", models.FloatField(db_default=10.0)),
                ("alert_no_consumers_seconds", models.FloatField(db_default=60.0)),
                ("alert_backlog_eta_seconds", models.FloatField(db_default=3600.0)),
                ("alert_lease_age_seconds", models.FloatField(db_default=3600.0)),
                ("alert_redelivery_ratio", models.FloatField(db_default=0.5)),
                ("dead_letter_queue_id", models.IntegerField(null=True)),
            ],
            options={
                "db_table": "queue",
                "indexes": [models.Index(fields=["dead_letter_queue_id"], name="queue_dead_letter_queue")],
            },
        ),
        # The audit: who did what, when and why. No foreign key: deleting a queue must not change its events.
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("audit_event_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=Now())),
                ("actor", models.CharField(max_length=150)),
                ("action", models.CharField(max_length=60)),
                ("queue_name", models.CharField(db_default="", max_length=100)),
                ("reason", models.CharField(db_default="", max_length=500)),
                ("details", models.JSONField(db_default={})),
                (
                    "queue",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=models.DO_NOTHING,
                        related_name="audit_events",
                        to="queues.queue",
                    ),
                ),
                ("position", models.BigIntegerField(null=True, unique=True)),
                ("previous_hash", models.BinaryField(null=True)),
                ("hash", models.BinaryField(null=True)),
                ("database_role", models.TextField(null=True)),
                ("application_name", models.TextField(null=True)),
            ],
            options={
                "db_table": "audit_event",
                "indexes": [
                    models.Index(fields=["queue", "-audit_event_id"], name="audit_event_queue"),
                    models.Index(fields=["actor", "-audit_event_id"], name="audit_event_actor"),
                    models.Index(fields=["action", "-audit_event_id"], name="audit_event_action"),
                ],
            },
        ),
        # Maintenance mode: one row while the installation is held.
        migrations.CreateModel(
            name="Maintenance",
            fields=[
                ("maintenance_id", models.SmallIntegerField(db_default=1, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("started_by", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=500)),
                ("until", models.DateTimeField(null=True)),
                ("holds_claims", models.BooleanField()),
                ("refuses_sends", models.BooleanField()),
            ],
            options={
                "db_table": "maintenance",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("maintenance_id", 1)), name="maintenance_is_one")
                ],
            },
        ),
    ]
