"""Jobs above a threshold wait for a second person, and the tables hold everybody to it; and what of messages is masked."""

from django.db import migrations, models
from django.db.models.functions import Now

STATES = [
    *[(state, state.capitalize()) for state in ("pending", "running", "paused", "cancelled", "done", "failed")],
    ("awaiting", "awaiting approval"),
    ("refused", "Refused"),
    ("expired", "Expired"),
]


def _approval(model: str) -> list[migrations.operations.base.Operation]:
    return [
        migrations.AddField(
            model,
            "needs_approval",
            models.BooleanField(db_default=False, help_text="It touches more than one person may decide."),
        ),
        migrations.AddField(model, "approval_expires_at", models.DateTimeField(null=True)),
        migrations.AddField(model, "approved_by", models.CharField(max_length=150, null=True)),
        migrations.AddField(model, "decided_at", models.DateTimeField(null=True)),
        migrations.AddField(model, "decision_reason", models.CharField(max_length=500, db_default="")),
        migrations.AlterField(model, "state", models.CharField(choices=STATES, db_default="pending", max_length=10)),
        migrations.AddIndex(
            model,
            models.Index(
                fields=["approval_expires_at"], name=f"{model}_awaiting", condition=models.Q(state="awaiting")
            ),
        ),
        migrations.AddConstraint(
            model,
            models.CheckConstraint(
                name=f"{model}_second_person",
                condition=models.Q(approved_by=None) | ~models.Q(approved_by=models.F("created_by")),
            ),
        ),
        migrations.AddConstraint(
            model,
            models.CheckConstraint(
                name=f"{model}_approved",
                condition=models.Q(needs_approval=False)
                | models.Q(approved_by__isnull=False)
                | models.Q(state__in=["awaiting", "refused", "expired", "cancelled"]),
            ),
        ),
    ]


MASKING = migrations.CreateModel(
    name="MaskingRule",
    fields=[
        ("masking_rule_id", models.BigAutoField(primary_key=True, serialize=False)),
        (
            "part",
            models.CharField(choices=[("payload", "Payload"), ("attributes", "Attributes")], max_length=10),
        ),
        ("path", models.CharField(max_length=200)),
        ("queue_name", models.CharField(db_default="", max_length=100)),
        ("tenant_name", models.CharField(db_default="", max_length=100)),
        ("created_by", models.CharField(max_length=150)),
        ("created_at", models.DateTimeField(db_default=Now())),
    ],
    options={
        "db_table": "masking_rule",
        "ordering": ("queue_name", "tenant_name", "part", "path"),
        "constraints": [
            models.UniqueConstraint(fields=["queue_name", "tenant_name", "part", "path"], name="masking_rule_once"),
            models.CheckConstraint(
                name="masking_rule_scope", condition=models.Q(queue_name="") | models.Q(tenant_name="")
            ),
        ],
    },
)


class Migration(migrations.Migration):
    dependencies = [("dlq", "0005_clusters")]
    operations = [
        *(operation for model in ("redrive", "deletion", "purge", "undo") for operation in _approval(model)),
        MASKING,
    ]
