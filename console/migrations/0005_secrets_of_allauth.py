"""Second factors become rows of django-allauth's, encrypted. Whoever had one keeps it: the same key, the same app."""

from allauth.mfa.utils import decrypt, encrypt
from django.conf import settings
from django.db import migrations


def move(apps, editor):
    """What no code confirmed is not kept: it asked nobody for one."""
    old = apps.get_model("console", "SecondFactor").objects.using(editor.connection.alias)
    new = apps.get_model("mfa", "Authenticator").objects.using(editor.connection.alias)
    for factor in old.filter(confirmed=True).iterator():
        data = {"secret": encrypt(factor.secret), "last_step": factor.last_step}
        new.update_or_create(
            user_id=factor.person_id, type="totp", defaults={"data": data, "created_at": factor.created_at}
        )


def move_back(apps, editor):
    """Codes on paper are lost by this: there was nowhere to keep them."""
    old = apps.get_model("console", "SecondFactor").objects.using(editor.connection.alias)
    new = apps.get_model("mfa", "Authenticator").objects.using(editor.connection.alias)
    for factor in new.filter(type="totp").iterator():
        secret, step = decrypt(factor.data["secret"]), factor.data.get("last_step", 0)
        old.create(person_id=factor.user_id, secret=secret, confirmed=True, last_step=step)
    new.filter(type__in=["totp", "recovery_codes"]).delete()


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("console", "0004_second_factor"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [
        migrations.RunPython(move, move_back),
        migrations.DeleteModel(name="SecondFactor"),
    ]
