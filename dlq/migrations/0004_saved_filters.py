"""Filters under a name; and the filters of earlier jobs, as text that means what it meant.

A slash at the beginning of a value begins a pattern now, and brackets in a path step into a list: what had either as
plain text gets quotes.
"""

import re
from typing import Any

import django.db.models.functions.datetime
from django.db import migrations, models

_HEAD = re.compile(r'-?[^\s":,.]+(?:\.(?:"(?:[^"\\]|\\.)*"|[^\s":,.]*))*:')
_STEP = re.compile(r'\.([^\s":,.]*[\[\]][^\s":,.]*|"(?:[^"\\]|\\.)*")')
_VALUE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s",])+,?')


def requoted(text: str) -> str:
    """Canonical text of before as canonical text of now; anything else as it is."""
    parts, position = [], 0
    while position < len(text):
        head = _HEAD.match(text, position)
        if head is None:
            return text
        parts.append(_STEP.sub(lambda step: f".{_quoted(step[1])}", head.group()))
        position = head.end()
        while value := _VALUE.match(text, position):
            written = value.group().removesuffix(",")
            parts.append(_quoted(written) if written.startswith("/") else written)
            parts.append("," * value.group().endswith(","))
            position = value.end()
        parts.append(text[position : position + 1])
        position += 1
    return "".join(parts)


def _quoted(text: str) -> str:
    return text if text.startswith('"') else '"' + text.replace("\\", "\\\\") + '"'


def requote(apps: Any, schema_editor: Any) -> None:
    """Only the few that hold one of the characters are looked at."""
    for name in ("Redrive", "Deletion"):
        jobs = apps.get_model("dlq", name).objects.filter(filter_text__regex=r"[/\[\]]")
        for job in jobs.only("filter_text").iterator():
            if (text := requoted(job.filter_text)) != job.filter_text:
                type(job).objects.filter(pk=job.pk).update(filter_text=text)


class Migration(migrations.Migration):
    dependencies = [("dlq", "0003_trash")]

    operations = [
        migrations.RunPython(requote, migrations.RunPython.noop),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("saved_filter_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "page",
                    models.CharField(
                        choices=[("dead-letters", "Dead Letters"), ("messages", "Messages")], max_length=20
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("text", models.CharField(max_length=2000)),
                ("owner", models.CharField(max_length=150)),
                ("shared", models.BooleanField(db_default=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "saved_filter",
                "indexes": [models.Index(fields=["page", "name"], name="saved_filter_page")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "page", "name"), name="saved_filter_name"),
                ],
            },
        ),
    ]
