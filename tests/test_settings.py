import ast
import json
import os
import re
import runpy
import stat
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

PROJECT = Path(__file__).resolve().parents[1]
DOCUMENTATION = PROJECT / "docs/reference/configuration.md"


def run_python(home: Path, code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return run([sys.executable, "-c", code], home, **variables)


def run(command: list[str], home: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run with no setting but the home and what is given."""
    environment = {"PATH": os.environ["PATH"], "SIGNALBOX_HOME": str(home), **variables}
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


def read_settings(home: Path, *names: str, **variables: str) -> dict[str, object]:
    """Run the settings file in this process, with no variable but the home and what is given."""
    given = {"PATH": os.environ["PATH"], "SIGNALBOX_HOME": str(home), **variables}
    with mock.patch.dict(os.environ, given, clear=True), mock.patch.dict(sys.modules):
        sys.modules.pop("console.environment", None)  # it reads the variables when it is imported
        found = runpy.run_path(str(PROJECT / "console" / "settings.py"))
    return json.loads(json.dumps({name: found[name] for name in names}))


def refusal(home: Path, **variables: str) -> str:
    """Return what the settings file says of these variables."""
    with pytest.raises(ImproperlyConfigured) as caught:
        read_settings(home, **variables)
    return str(caught.value)


def test_the_defaults_pass_djangos_deployment_check(tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]

    result = run(command, tmp_path)

    assert result.returncode == 0, result.stderr
    assert "no issues (0 silenced)" in result.stdout


@pytest.mark.parametrize(
    ("storage", "options", "said"),
    [
        ("no_such_package.s3.S3Storage", "{}", "queues.E001"),
        ("queues.bodies.WholeFiles", '{"bucket": 1}', "queues.E001"),
        ("django.core.files.storage.FileSystemStorage", '{"location": "/tmp/bodies"}', "queues.W001"),
    ],
)
def test_a_store_of_large_bodies_that_cannot_work_is_noticed_early(
    tmp_path: Path, storage: str, options: str, said: str
) -> None:
    command = [sys.executable, "manage.py", "check", "--fail-level", "WARNING"]

    result = run(command, tmp_path, BODIES_STORAGE=storage, BODIES_OPTIONS=options)

    assert result.returncode == 1
    assert said in result.stderr


def test_large_bodies_are_kept_at_home_by_default(tmp_path: Path) -> None:
    storages = read_settings(tmp_path, "STORAGES")["STORAGES"]

    assert storages["bodies"] == {
        "BACKEND": "queues.bodies.WholeFiles",
        "OPTIONS": {"location": str(tmp_path / "bodies")},
    }


def test_by_default_nothing_is_open(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, "DEBUG", "HTTPS_ONLY", "ALLOWED_HOSTS", "SESSION_COOKIE_NAME")

    assert settings == {
        "DEBUG": False,
        "HTTPS_ONLY": True,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]"],
        "SESSION_COOKIE_NAME": "__Host-signalbox-session",
    }


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "http://127.0.0.1:8000/sqs"),
        ({"CONSOLE_URL": "https://queues.example.org"}, "https://queues.example.org/sqs"),
        ({"SQS_PORT": "9324"}, "http://127.0.0.1:9324"),
        ({"SQS_PORT": "9324", "SQS_HOST": "0.0.0.0"}, "http://127.0.0.1:9324"),
        ({"SQS_PORT": "9324", "SQS_HOST": "::1"}, "http://[::1]:9324"),
        ({"SQS_PORT": "9324", "CONSOLE_URL": "https://queues.example.org/"}, "https://queues.example.org/sqs"),
        ({"SQS_PORT": "9324", "SQS_URL": "https://sqs.example.org/"}, "https://sqs.example.org"),
    ],
)
def test_the_sqs_endpoint_has_an_address_that_answers(tmp_path: Path, variables: dict[str, str], expected: str) -> None:
    assert read_settings(tmp_path, "SQS_URL", **variables)["SQS_URL"] == expected


def test_one_setting_allows_plain_http_on_this_machine(tmp_path: Path) -> None:
    names = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS")

    settings = read_settings(tmp_path, *names, HTTPS_ONLY="false")

    assert not any(settings.values())


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("DEBUG", "perhaps", "true or false"),
        ("HTTPS_ONLY", "2", "true or false"),
        ("PORT", "http", "a whole number from 1 to 65535"),
        ("PORT", "0", "a whole number from 1 to 65535"),
        ("PORT", "-1", "a whole number from 1 to 65535"),
        ("LOG_LEVEL", "loud", "one of DEBUG, INFO"),
        ("LOG_FORMAT", "xml", "one of text, json"),
        ("TRACE_URL_TEMPLATE", "javascript:alert({trace_id})", "an http or https URL with {trace_id} in it"),
        ("TRACE_URL_TEMPLATE", "https://tempo.example/", "an http or https URL with {trace_id} in it"),
        ("TRACE_URL_TEMPLATE", "https://tempo.example/{trace_id}/{other}", "an http or https URL with {trace_id}"),
        ("DATABASE_URL", "mysql://db/orders", "postgresql://"),
        ("ARCHIVE_READ_URL", "standby.example", "postgresql://"),
        ("ARCHIVE_READ_URL", "postgresql://standby.example", "names no database"),
        ("BODIES_STORAGE", "s3://bucket", "the dotted name of a class"),
        ("BODIES_OPTIONS", "location=/srv", "a JSON object"),
        ("BODIES_OPTIONS", "[1]", "a JSON object"),
        ("BODIES_MAX_BYTES", "1000", "a whole number from 262144"),
        ("BODIES_GRACE_SECONDS", "soon", "a whole number from 0"),
        ("ALERTS_WEBHOOKS", "http://hooks.example/secret", "number 1 is no address with https"),
        ("ALERTS_WEBHOOKS", "https://hooks.example,https://ann:pw@hooks.example", "number 2 is no address"),
        ("ALERTS_WEBHOOKS", "file:///etc/passwd", "number 1 is no address with https"),
        ("ALERTS_WEBHOOKS", "https://hooks.example/a secret", "number 1 is no address with https"),
        ("CONSOLE_URL", "console.example", "an address with https or http"),
        ("EMAIL_SECURITY", "ssl", "one of none, starttls, tls"),
        ("ARCHIVE_SCHEDULE", "hourly", "seconds from 10 to 31536000, or five fields of a crontab"),
        ("ARCHIVE_SCHEDULE", "5", "seconds from 10 to 31536000"),
        ("ROLLUP_SCHEDULE", "61 * * * *", "five fields of a crontab"),
        ("OIDC_ISSUER", "http://login.example", "https (http on this machine only)"),
        ("OIDC_ISSUER", "login.example", "https (http on this machine only)"),
        ("OIDC_ISSUER", "https://ann:pw@login.example", "https (http on this machine only)"),
        ("OIDC_ISSUER", "https://login.example?tenant=1", "without a query"),
        ("OIDC_ISSUER", "javascript:alert(1)", "https (http on this machine only)"),
        ("OIDC_ROLES", "ops", "values with their roles"),
        ("OIDC_ROLES", "ops=root", "values with their roles"),
        ("OIDC_ROLES", "ops=viewer,ops=admin", "each once"),
        ("OIDC_TENANTS", "acme-ops=operator", "values with a role and a tenant"),
        ("OIDC_TENANTS", "acme-ops=root@acme", "values with a role and a tenant"),
        ("OIDC_SESSION_HOURS", "0", "a whole number from 1 to 720"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(
    tmp_path: Path, variable: str, value: str, expected: str
) -> None:
    said = refusal(tmp_path, **{variable: value})

    assert variable in said
    assert expected in said


def test_a_refusal_is_the_last_line_of_a_process(tmp_path: Path) -> None:
    result = run_python(tmp_path, "import console.settings", PORT="http")

    assert result.returncode == 1
    assert "PORT" in result.stderr.strip().splitlines()[-1]


def test_webhooks_need_a_secret_and_may_go_by_plain_http_when_allowed(tmp_path: Path) -> None:
    hooks = {"ALERTS_WEBHOOKS": "http://127.0.0.1:9000/a, https://hooks.example/b", "ALERTS_WEBHOOK_HTTP": "true"}

    assert "ALERTS_WEBHOOK_SECRET must have 16 characters" in refusal(tmp_path, **hooks, ALERTS_WEBHOOK_SECRET="short")
    given = read_settings(tmp_path, "ALERTS_WEBHOOKS", **hooks, ALERTS_WEBHOOK_SECRET="sixteen or more of them")
    assert given["ALERTS_WEBHOOKS"] == ["http://127.0.0.1:9000/a", "https://hooks.example/b"]


def test_sign_on_is_off_and_needs_all_that_it_needs(tmp_path: Path) -> None:
    given = {"OIDC_ISSUER": "https://login.example/a/", "OIDC_CLIENT_ID": "console", "OIDC_CLIENT_SECRET": "sesame"}
    roles = {"OIDC_ROLES": "urn:a:ops=operator, a=b=admin", "OIDC_TENANTS": "acme-ops=operator@acme"}
    names = ("OIDC_ISSUER", "OIDC_NAME", "OIDC_ROLES", "OIDC_TENANTS")

    assert read_settings(tmp_path, "OIDC_ISSUER") == {"OIDC_ISSUER": ""}
    for left_out in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
        refused = run_python(tmp_path, "import console.settings", **{**given, **roles, left_out: ""})
        assert f"{left_out} must be set" in refused.stderr
        assert "sesame" not in refused.stderr
    assert "lets no one in" in refusal(tmp_path, **given)
    assert "OIDC_SCOPES must have openid" in refusal(tmp_path, **given, **roles, OIDC_SCOPES="profile")
    assert read_settings(tmp_path, *names, **given, **roles) == {
        "OIDC_ISSUER": "https://login.example/a/",
        "OIDC_NAME": "login.example",
        "OIDC_ROLES": {"urn:a:ops": "operator", "a=b": "admin"},
        "OIDC_TENANTS": [["acme-ops", "operator", "acme"]],
    }


def test_a_provider_on_this_machine_needs_no_tls(tmp_path: Path) -> None:
    given = {"OIDC_CLIENT_ID": "console", "OIDC_CLIENT_SECRET": "sesame", "OIDC_ROLES": "a=viewer"}

    for address in ("http://127.0.0.1:8080", "http://localhost:8080/realms/a", "http://[::1]:1"):
        assert read_settings(tmp_path, "OIDC_ISSUER", **given, OIDC_ISSUER=address) == {"OIDC_ISSUER": address}


def test_an_empty_value_is_no_value(tmp_path: Path) -> None:
    assert read_settings(tmp_path, "PORT", "DATABASE_URL", PORT="", DATABASE_URL=" ") == {
        "PORT": 8000,
        "DATABASE_URL": "",
    }


def test_the_secret_key_is_generated_once_for_all_who_start_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    code = "from console import settings; print(settings.SECRET_KEY)"
    environment = {"PATH": os.environ["PATH"], "SIGNALBOX_HOME": str(home)}
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]

    keys = {process.communicate()[0].strip() for process in processes}

    (key,) = keys
    assert len(key) >= 50
    assert (home / "secret_key").read_text() == key
    assert stat.S_IMODE((home / "secret_key").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [path.name for path in home.glob("secret_key*")] == ["secret_key"]


def test_a_given_secret_key_is_not_written_down(tmp_path: Path) -> None:
    assert read_settings(tmp_path, "SECRET_KEY", SECRET_KEY="given") == {"SECRET_KEY": "given"}
    assert not (tmp_path / "secret_key").exists()


def test_the_broker_is_the_database_unless_said_otherwise(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")  # a short path: the socket of a longer one is elsewhere
    names = ("CELERY_BROKER_URL", "BROKER_IS_DATABASE", "CELERY_BROKER_TRANSPORT_OPTIONS")

    embedded = read_settings(home, *names)
    given = read_settings(home, *names, DATABASE_URL="postgresql://ann:secret@db/shop?sslmode=require")
    elsewhere = read_settings(home, *names, CELERY_BROKER_URL="redis://cache/1")

    assert str(embedded["CELERY_BROKER_URL"]).startswith("signalbox://")
    assert str(home) in str(embedded["CELERY_BROKER_URL"])
    assert given == dict(
        zip(names, ["signalbox://ann:secret@db/shop?sslmode=require", True, {"tenant": "system"}], strict=True)
    )
    assert elsewhere == dict(zip(names, ["redis://cache/1", False, {}], strict=True))


def test_a_broker_option_cannot_change_the_tenant(tmp_path: Path) -> None:
    name = "CELERY_BROKER_TRANSPORT_OPTIONS"

    options = read_settings(tmp_path, name, CELERY_BROKER_OPTIONS='{"max_receives": 3}')[name]

    assert options == {"tenant": "system", "max_receives": 3}
    options = read_settings(tmp_path, name, CELERY_BROKER_OPTIONS='{"tenant": "acme"}')[name]
    assert options == {"tenant": "system"}


def test_a_broker_that_is_a_folder_stays_where_it_was(tmp_path: Path) -> None:
    """Encrypted text is decrypted by any process, wherever it was started."""
    name = "CELERY_BROKER_TRANSPORT_OPTIONS"

    options = read_settings(tmp_path, name, CELERY_BROKER_URL="filesystem://localhost")[name]

    assert isinstance(options, dict)
    assert options["data_folder_in"] == options["data_folder_out"] == str(tmp_path / "broker" / "messages")
    assert (tmp_path / "broker" / "messages").is_dir()


def test_every_answer_carries_the_strict_policy() -> None:
    answer = Client().get("/no-such-page")

    assert set(answer["Content-Security-Policy"].split("; ")) == {
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    }
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_every_variable_is_documented_and_nothing_else() -> None:
    source = ast.parse((PROJECT / "console/environment.py").read_text())
    read = {
        call.args[0].value
        for call in ast.walk(source)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "").startswith("env_")
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", DOCUMENTATION.read_text(), flags=re.MULTILINE))

    assert read == documented


def test_only_the_readers_of_settings_read_variables() -> None:
    reading = re.compile(r"environ\[|environ\.get|getenv")

    readers = {
        str(path.relative_to(PROJECT))
        for room in ("console", "dlq", "metrics", "queues")
        for path in (PROJECT / room).rglob("*.py")
        if reading.search(path.read_text())
    }

    assert readers == {"console/environment.py"}
