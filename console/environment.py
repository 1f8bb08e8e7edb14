"""Every environment variable: its default, what it may be and its text, which docs/reference/configuration.md repeats.

A value that cannot be understood stops the process at once and names its variable.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.access.sign_on import configuration
from console.captures import capturable
from metrics.alerts.web_address import is_web_address
from pipeline.jobs import schedules
from queues.database.url import broker_url

Value = TypeVar("Value")
Given = TypeVar("Given")


def env_text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def variables_given(prefix: str) -> frozenset[str]:
    """Return the names of the variables with this prefix that are set and not empty."""
    return frozenset(name for name in os.environ if name.startswith(prefix) and env_text(name, ""))


def variables_of_parts(defaults: Mapping[str, str], **fixed: str) -> dict[str, str]:
    """Return the variables of a server's processes: the defaults, what this process was given, and the fixed ones."""
    path = os.pathsep.join([str(BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    ours = {"DJANGO_SETTINGS_MODULE": "console.settings", "PYTHONUNBUFFERED": "1", "PYTHONPATH": path}
    return {**defaults, **{name: value for name, value in os.environ.items() if value}, **ours, **fixed}


def env_flag(name: str, default: bool) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    text = env_text(name, str(default)).lower()
    if text not in words:
        raise ImproperlyConfigured(f"{name} must be true or false, not {text!r}")
    return words[text]


def env_number(name: str, default: int, low: int, high: int) -> int:
    text = env_text(name, str(default))
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {text!r}")
    return int(text)


def env_list(name: str, default: str) -> list[str]:
    return [item.strip() for item in env_text(name, default).split(",") if item.strip()]


def env_object(name: str, default: dict[str, object]) -> dict[str, object]:
    text = env_text(name, json.dumps(default))
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{name} must be a JSON object, not {text!r}")
    return value


def env_class(name: str, default: str) -> str:
    text = env_text(name, default)
    if not all(part.isidentifier() for part in text.split(".")) or "." not in text:
        raise ImproperlyConfigured(f"{name} must be the dotted name of a class, not {text!r}")
    return text


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    text = env_text(name, default)
    if text not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {text!r}")
    return text


def env_schedule(name: str) -> schedules.Schedule:
    """Read a schedule: seconds, or five fields of a crontab. Empty: never."""
    text = env_text(name, "")
    return _parsed(name, text, schedules.parsed, f", not {text!r}")


def env_parsed(name: str, parse: Callable[[list[str]], Value]) -> Value:
    """Read a list separated by commas, and return the result of `parse` for the list."""
    return _parsed(name, env_list(name, ""), parse)


def env_issuer(name: str) -> str:
    text = env_text(name, "")
    return _parsed(name, text, configuration.issuer, f", not {text!r}") if text else ""


def _parsed(name: str, value: Given, parse: Callable[[Given], Value], not_this: str = "") -> Value:
    try:
        return parse(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {error}{not_this}") from error


def env_url_template(name: str, place: str) -> str:
    text = env_text(name, "")
    known = text.replace(f"{{{place}}}", "")
    web = text.startswith(("https://", "http://"))
    if text and (not web or known == text or set(known) & set("{}<>\"' ")):
        raise ImproperlyConfigured(f"{name} must be an http or https URL with {{{place}}} in it, not {text!r}")
    return text


def env_address(name: str, default: str, schemes: tuple[str, ...]) -> str:
    text = env_text(name, default).rstrip("/")
    if not is_web_address(text, schemes):
        raise ImproperlyConfigured(f"{name} must be an address with {' or '.join(schemes)}, not {text!r}")
    return text


def _sqs_url() -> str:
    """Return the address of the SQS endpoint: its own port for this machine, or /sqs under the console's address."""
    if not SQS_PORT or env_text("CONSOLE_URL", ""):
        return f"{CONSOLE_URL}/sqs"
    host = "127.0.0.1" if SQS_HOST in ("0.0.0.0", "::") else SQS_HOST  # noqa: S104 - it is compared, not bound
    return f"http://[{host}]:{SQS_PORT}" if ":" in host else f"http://{host}:{SQS_PORT}"


def env_addresses(name: str, schemes: tuple[str, ...]) -> list[str]:
    """Read addresses. An error names the position of a wrong address, not the address: it may contain a secret."""
    addresses = env_list(name, "")
    for place, text in enumerate(addresses, 1):
        if not is_web_address(text, schemes):
            raise ImproperlyConfigured(f"{name}: number {place} is no address with {' or '.join(schemes)}")
    return addresses


def private_directory(path: Path) -> Path:
    """Create `path` for this user alone; a folder that already exists keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def secret_key() -> str:
    """SECRET_KEY, or a key generated once and kept in SIGNALBOX_HOME."""
    if given := env_text("SECRET_KEY", ""):
        return given
    path = private_directory(SIGNALBOX_HOME) / "secret_key"
    if not path.exists():
        draft = path.with_name(f"secret_key.{secrets.token_hex(8)}")
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)  # if several processes start at once, the key of one of them is used
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    if not (key := path.read_text().strip()):
        raise ImproperlyConfigured(f"{path} is empty: delete it, or set SECRET_KEY")
    return key


BASE_DIR = Path(__file__).resolve().parent.parent


def default_home() -> Path:
    """Return the folder of the checkout's own files, or of the user's where the package is installed."""
    return (BASE_DIR if (BASE_DIR / "pyproject.toml").exists() else Path.home()) / ".signalbox"


# Where things live
SIGNALBOX_HOME = Path(env_text("SIGNALBOX_HOME", str(default_home()))).expanduser().absolute()
"""Default: `.signalbox` in the checkout, or in the home of the user who runs an installed package. Folder for files
that must survive a restart: the generated secret key, the data of the embedded PostgreSQL, large bodies. It is made for
the user who starts Signalbox. On a network file system set `DATABASE_URL` as well."""
DATABASE_URL = env_text("DATABASE_URL", "")
"""Default: the embedded PostgreSQL 18. Any URL that `psql` takes, of PostgreSQL 15 or newer, such as
`postgresql://user:password@host/name?sslmode=verify-full`; several hosts are allowed (docs/run/failover.md). Signalbox
uses the schema `signalbox`, which `manage.py migrate` makes."""
DATABASE_POOLER = env_choice("DATABASE_POOLER", "none", ("none", "transaction"))
"""`transaction` if `DATABASE_URL` leads to PgBouncer in transaction mode (docs/run/pgbouncer.md). Clients and workers
of applications read it too."""
DATABASE_DIRECT_URL = env_text("DATABASE_DIRECT_URL", "")
"""Address of PostgreSQL itself behind such a pooler, for migrations, upkeep, the pipeline and wake-ups, which need a
session."""
ARCHIVE_READ_URL = env_text("ARCHIVE_READ_URL", "")
"""Address from which tasks of archive runs read: a standby, or a role that may only read
(docs/run/pipeline-operate.md#from-a-standby-or-by-a-role-that-may-only-read). The default is `DATABASE_URL`."""
ENVIRONMENT = env_text("ENVIRONMENT", "")
"""Label in the console's sidebar, such as `production`."""
PORT = env_number("PORT", 8000, low=1, high=65535)
"""Port on which the console listens."""
SQS_PORT = env_number("SQS_PORT", 0, low=0, high=65535)
"""Port on which the console also serves the SQS endpoint at its root (docs/use/sqs.md). 0: only under `/sqs/`."""
SQS_HOST = env_text("SQS_HOST", "127.0.0.1")
"""Address on which it listens there."""

# Security
DEBUG = env_flag("DEBUG", default=False)
"""Django's debug pages. They show settings and data: never turn them on where others can reach them."""
HTTPS_ONLY = env_flag("HTTPS_ONLY", default=True)
"""Redirect to HTTPS, send HSTS, and set cookies for HTTPS only. Use `false` on your own machine alone; `make demo` sets
it."""
SECRET_KEY = secret_key()
"""Default: generated once into `SIGNALBOX_HOME/secret_key`. Key that signs sessions, and encrypts the keys of second
factors and the addresses of alert channels. All replicas need the same one."""
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
"""Host names of the console, separated by commas."""
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS", "")
"""Origins such as `https://queues.example`, separated by commas, for a proxy that changes the host name."""
LOGIN_ATTEMPTS = env_number("LOGIN_ATTEMPTS", 10, low=1, high=1_000)
"""Wrong passwords for one name from one address after which that address is locked for the name
(docs/run/logins.md)."""
LOGIN_LOCK_MINUTES = env_number("LOGIN_LOCK_MINUTES", 15, low=1, high=1_440)
"""Minutes for which the lock lasts."""
CONFIRM_PASSWORD_MINUTES = env_number("CONFIRM_PASSWORD_MINUTES", 30, low=0, high=1_440)
"""Minutes for which a password counts. After that, purges, configuration and rights ask for it again. 0: they never
ask."""
SECOND_FACTOR = env_choice("SECOND_FACTOR", "off", ("off", "optional", "required"))
"""Whether people give a code of an app beside their password (docs/run/logins.md#second-factor): not at all, if they
like, or always."""
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS", "")
"""Former secret keys, separated by commas. Sessions go on, and second factors and alert channels that were
encrypted with them can be read."""

# Sign-on by OpenID Connect
OIDC_ISSUER = env_issuer("OIDC_ISSUER")
"""Provider at which people sign on by OpenID Connect (docs/run/accounts.md#sign-on), exactly as its document names it;
https, or http on this machine. Without it there is no sign-on."""
OIDC_NAME = env_text("OIDC_NAME", urlsplit(OIDC_ISSUER).hostname or "")[:40]
"""Default: the host of the issuer. Name of the provider on the button *Sign in with …*."""
OIDC_CLIENT_ID = env_text("OIDC_CLIENT_ID", "")
"""Name under which the provider knows the console."""
OIDC_CLIENT_SECRET = env_text("OIDC_CLIENT_SECRET", "")
"""Secret of the console at the provider."""
OIDC_SCOPES = env_list("OIDC_SCOPES", "openid,profile")
"""Scopes that the console asks for, separated by commas. Some providers send groups only for the scope `groups`."""
OIDC_CLAIM = env_text("OIDC_CLAIM", "groups")
"""Claim that has the roles of a person: a word or a list, also within another claim (`realm_access.roles`)."""
OIDC_ROLES = env_parsed("OIDC_ROLES", configuration.roles)
"""Role for all queues for each value of the claim: `ops=operator,leads=admin`. Of several roles the largest counts. A
person without a role is refused."""
OIDC_TENANTS = env_parsed("OIDC_TENANTS", configuration.tenants)
"""Role for the queues of a tenant for each value of the claim: `acme-ops=operator@acme`. Several roles add up."""
OIDC_SESSION_HOURS = env_number("OIDC_SESSION_HOURS", 8, low=1, high=720)
"""Hours after a sign-on at which the session ends, at most `SESSION_HOURS`."""
SESSION_HOURS = env_number("SESSION_HOURS", 24, low=1, high=720)
"""Hours after a login at which the session ends."""

# Messages, exports and the audit
ALLOW_UNSAFE_DATABASE = env_flag("ALLOW_UNSAFE_DATABASE", default=False)
"""Whether `migrate` accepts a database with `fsync`, `full_page_writes` or `synchronous_commit` off, which can lose
committed messages. `/healthz` reports it in any case."""
BODIES_STORAGE = env_class("BODIES_STORAGE", "queues.bodies.WholeFiles")
"""Storage class of Django for large bodies (docs/use/large-bodies.md): a folder, or `storages.backends.s3.S3Storage` of
django-storages."""
BODIES_MAX_BYTES = env_number("BODIES_MAX_BYTES", 100_000_000, low=262_144, high=5_000_000_000)
"""Bytes of the largest body, as JSON text."""
BODIES_GRACE_SECONDS = env_number("BODIES_GRACE_SECONDS", 3600, low=0, high=31_536_000)
"""Seconds for which a body is kept after the last reference to it is gone."""
BODIES_OPTIONS = env_object(
    "BODIES_OPTIONS",
    {"location": str(SIGNALBOX_HOME / "bodies")} if BODIES_STORAGE == "queues.bodies.WholeFiles" else {},
)
"""Default: `{"location": "SIGNALBOX_HOME/bodies"}`. Options of that class. All processes must see the same store. No
other installation may use it: objects that this database does not know are removed."""
EXPORT_MAX_ROWS = env_number("EXPORT_MAX_ROWS", 100_000, low=1, high=10_000_000)
"""Rows of one export (docs/operate/export.md), at most."""
EXPORT_MAX_BYTES = env_number("EXPORT_MAX_BYTES", 200_000_000, low=1_000, high=100_000_000_000)
"""Bytes of one export, at most."""
AUDIT_RETENTION_DAYS = env_number("AUDIT_RETENTION_DAYS", 0, low=0, high=36_500)
"""Days after which rows of the audit move to files (docs/operate/audit-retention.md). 0: they are kept."""
AUDIT_EXPORT_FOLDER = env_text("AUDIT_EXPORT_FOLDER", str(SIGNALBOX_HOME / "audit"))
"""Folder of those files. Every process of upkeep must see it."""

# The data pipeline
ARCHIVE_URL = env_text("ARCHIVE_URL", str(SIGNALBOX_HOME / "archive"))
"""Place of the archive (docs/run/pipeline.md): a folder, or an object store such as `s3://bucket/folder`, `gs://`,
`abfs://`, or any scheme of an installed fsspec package."""
SPARK_MASTER = env_text("SPARK_MASTER", "local[*]")
"""Spark that runs the pipeline: all cores of this machine, or the address of a Spark cluster."""
SPARK_OPTIONS = env_object("SPARK_OPTIONS", {"spark.driver.memory": "1g"})
"""Options of Spark."""
SPARK_CLASSES = Path(env_text("SPARK_CLASSES", str(SIGNALBOX_HOME / "spark"))).expanduser().absolute()
"""Folder in which Java keeps its loaded classes, about 160 MB, so that later sessions start in half the time
(docs/run/pipeline-spark.md#the-start-of-a-session)."""
SPARK_SERVER_IDLE_SECONDS = env_number("SPARK_SERVER_IDLE_SECONDS", 600, low=0, high=86_400)
"""Seconds after the last job at which the shared Spark server ends (docs/run/pipeline-spark.md#the-spark-server). 0: no
server; each job starts a Java."""
REPLAY_MAX_MESSAGES = env_number("REPLAY_MAX_MESSAGES", 1_000_000, low=1, high=100_000_000)
"""Messages that one replay stages (docs/operate/replay.md), at most."""
REPLAY_MAX_BYTES = env_number("REPLAY_MAX_BYTES", 2_000_000_000, low=1, high=10_000_000_000_000)
"""Bytes of payloads and attributes that one replay stages, at most."""
REPLAY_KEEP_HOURS = env_number("REPLAY_KEEP_HOURS", 24, low=1, high=720)
"""Hours for which staged messages wait for the run of their plan."""
PIPELINE_NICE = env_flag("PIPELINE_NICE", True)
"""Whether `manage.py pipeline` uses only processor time that other processes leave, and archive runs pause while
others work in the database (docs/run/pipeline-operate.md#while-queues-are-in-use)."""
PIPELINE_TIME_LIMIT_SECONDS = env_number("PIPELINE_TIME_LIMIT_SECONDS", 14_400, low=0, high=2_592_000)
"""Seconds after which a worker cancels a run of the pipeline (docs/run/pipeline-operate.md#time-limits). 0: never."""
PIPELINE_KILL_SECONDS = env_number("PIPELINE_KILL_SECONDS", 120, low=1, high=86_400)
"""Seconds that a cancelled run has to stop. After that, the worker kills its process."""
PIPELINE_STALLED_SECONDS = env_number("PIPELINE_STALLED_SECONDS", 300, low=10, high=86_400)
"""Seconds without progress after which the page of a run shows it as stalled."""
PIPELINE_CONNECTIONS = env_number("PIPELINE_CONNECTIONS", 2, low=1, high=16)
"""Tasks of the pipeline that read the database at a time."""

# Logs and traces
LOG_LEVEL = env_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
"""Least level that is logged. Logs go to standard error."""
LOG_FORMAT = env_choice("LOG_FORMAT", "text", ("text", "json"))
"""Format of the log: text, or one JSON object for each line (docs/run/logging.md)."""
TRACE_URL_TEMPLATE = env_url_template("TRACE_URL_TEMPLATE", "trace_id")
"""Address of a trace, such as `https://tempo.example/trace/{trace_id}`. It makes the trace id on the page of a message
a link (docs/use/tracing.md)."""

# Jobs
CELERY_BROKER_URL = env_text("CELERY_BROKER_URL", broker_url(DATABASE_URL, SIGNALBOX_HOME))
"""Default: the database. Broker for the console's jobs: `signalbox://` with the address of `DATABASE_URL`, or any other
broker of Celery."""
BROKER_IS_DATABASE = broker_url(DATABASE_URL, SIGNALBOX_HOME) == CELERY_BROKER_URL


def broker_options() -> dict[str, object]:
    """Return the default options of the broker. Without these, Kombu's file broker would use the working directory."""
    if BROKER_IS_DATABASE:
        return {"tenant": "system"}
    if not CELERY_BROKER_URL.startswith("filesystem:"):
        return {}
    broker = private_directory(SIGNALBOX_HOME / "broker")
    folder = str(private_directory(broker / "messages"))
    control = str(private_directory(broker / "control"))
    return {"data_folder_in": folder, "data_folder_out": folder, "control_folder": control, "polling_interval": 0.2}


CELERY_BROKER_TRANSPORT_OPTIONS = env_object("CELERY_BROKER_OPTIONS", broker_options())
"""Default: `{"tenant": "system"}`. `broker_transport_options` of Celery. If the database is the broker, they are added
to the default (docs/use/celery.md)."""
if BROKER_IS_DATABASE:
    CELERY_BROKER_TRANSPORT_OPTIONS = CELERY_BROKER_TRANSPORT_OPTIONS | broker_options()  # the tenant system stays
ARCHIVE_SCHEDULE = env_schedule("ARCHIVE_SCHEDULE")
"""Times at which celery beat starts an archive run: seconds from 10, or five fields of a crontab in UTC such as
`*/15 * * * *`. Empty: never (docs/run/pipeline-operate.md#schedules)."""
ROLLUP_SCHEDULE = env_schedule("ROLLUP_SCHEDULE")
"""Times at which celery beat starts a rollup, in the same form."""
ANALYSE_SCHEDULE = env_schedule("ANALYSE_SCHEDULE")
"""Times at which celery beat starts a failure analysis (docs/operate/failure-analysis.md), in the same form."""

# Trash and approvals
TRASH_HOURS = env_number("TRASH_HOURS", 24, low=0, high=8_760)
"""Hours for which purged and deleted messages stay in the trash (docs/operate/purge.md#undo). 0: they are deleted at
once."""
TYPED_CONFIRMATION_ABOVE = env_number("TYPED_CONFIRMATION_ABOVE", 0, low=0, high=1_000_000_000)
"""Messages above which a purge or deletion asks for a typed confirmation. 0: every one asks."""
TYPED_CONFIRMATION_REDRIVE_ABOVE = env_number("TYPED_CONFIRMATION_REDRIVE_ABOVE", 1_000, low=0, high=1_000_000_000)
"""Messages above which a redrive on a page asks for a typed confirmation. 0: every one asks."""
APPROVAL_REDRIVE_MESSAGES = env_number("APPROVAL_REDRIVE_MESSAGES", 0, low=0, high=1_000_000_000)
"""Messages above which a redrive, or a seek that repeats messages, awaits approval (docs/operate/approvals.md). 0: none
waits."""
APPROVAL_DELETE_MESSAGES = env_number("APPROVAL_DELETE_MESSAGES", 0, low=0, high=1_000_000_000)
"""Messages above which a purge, a deletion or a discard of messages of a stream awaits approval. 0: none waits."""
APPROVAL_UNDO_MESSAGES = env_number("APPROVAL_UNDO_MESSAGES", 0, low=0, high=1_000_000_000)
"""Messages above which an undo awaits approval. 0: none waits."""
APPROVAL_OPERATOR_MESSAGES = env_number("APPROVAL_OPERATOR_MESSAGES", 1_000, low=0, high=1_000_000_000)
"""Messages above which an operator's purge, deletion or undo waits for an approval (docs/run/roles.md). Admins can act
on any number. 0: no limit."""
APPROVAL_HOURS = env_number("APPROVAL_HOURS", 24, low=1, high=720)
"""Hours after which a job without a decision expires."""
SECOND_PERSON_DAYS = env_number("SECOND_PERSON_DAYS", 7, low=0, high=365)
"""Days for which an account counts as the same person as the one who opened it or gave it a role that approves
(docs/operate/approvals.md). 0: it may approve at once."""

# The HTTP API and metrics
API_MAX_BODY_BYTES = env_number("API_MAX_BODY_BYTES", 10_000_000, low=1_000, high=1_000_000_000)
"""Bytes of one request to the HTTP API (docs/use/http-api.md), at most."""
API_DATABASE_CONNECTIONS = env_number("API_DATABASE_CONNECTIONS", 10, low=1, high=1_000)
"""Database connections of the HTTP API in one console process, at most. A waiting long poll holds none."""
CAPTURE_TABLES = env_parsed("CAPTURE_TABLES", capturable.parse)
"""Tables that may be captured over HTTP and by clicks (docs/use/capture.md#who-may-capture-what), separated by commas:
`public.orders@shop` for streams of the tenant `shop`, `public.rates` for streams of every tenant. Empty: none."""
METRICS_TOKEN = env_text("METRICS_TOKEN", "")
"""Bearer token for `/metrics` and the pages below it. Without it only programs of the same machine may read them.
`/healthz` is always open and shows numbers only with the token. These addresses and `/alerts/webhook` also answer plain
HTTP."""
METRICS_MAX_SERIES = env_number("METRICS_MAX_SERIES", 200_000, low=1, high=100_000_000)
"""Series of `/metrics/queues`, about 25 for each queue and 65 for one in detail, at most. The youngest queues
are left out; `signalbox_exporter_queues_omitted` counts them (docs/run/monitoring.md)."""
METRICS_DETAILED_QUEUES = env_number("METRICS_DETAILED_QUEUES", 50, low=0, high=1_000_000)
"""Queues, the oldest first, with every bucket of their histograms on `/metrics/queues`. Queues asked for by name or
tenant always have them (docs/run/monitoring.md)."""
ALERTMANAGER_TOKEN = env_text("ALERTMANAGER_TOKEN", "")
"""Bearer token that Alertmanager sends to `/alerts/webhook` (docs/operate/alerts.md). Without it nothing is
accepted."""
ALERTS_KEEP_DAYS = env_number("ALERTS_KEEP_DAYS", 30, low=1, high=3_650)
"""Days after which an alert without news is deleted."""

# Alerts that the console itself evaluates
CONSOLE_URL = env_address("CONSOLE_URL", f"http://127.0.0.1:{PORT}", ("https", "http"))
"""Default: `http://127.0.0.1:PORT`. Address of the console in links of mails and webhooks."""
SQS_URL = env_address("SQS_URL", _sqs_url(), ("https", "http"))
"""Default: `http://SQS_HOST:SQS_PORT` on a machine without `CONSOLE_URL`, else `/sqs` under `CONSOLE_URL`. Address of
the SQS endpoint that `manage.py apikey create --sqs` prints."""
ALERTS_EVERY_SECONDS = env_number("ALERTS_EVERY_SECONDS", 15, low=1, high=3_600)
"""Seconds between evaluations of `manage.py alerts evaluate`."""
ALERTS_MAIL_TO = env_list("ALERTS_MAIL_TO", "")
"""Addresses that get alerts by mail, separated by commas."""
ALERTS_MAIL_FROM = env_text("ALERTS_MAIL_FROM", "signalbox@localhost")
"""Sender of these mails."""
ALERTS_WEBHOOK_HTTP = env_flag("ALERTS_WEBHOOK_HTTP", default=False)
"""Whether webhooks may use plain HTTP, which others can read."""
ALERTS_WEBHOOK_PRIVATE = env_flag("ALERTS_WEBHOOK_PRIVATE", default=False)
"""Whether webhooks may go to private addresses of your own network."""
ALERTS_WEBHOOKS = env_addresses("ALERTS_WEBHOOKS", ("https", "http") if ALERTS_WEBHOOK_HTTP else ("https",))
"""Addresses that get alerts as signed POSTs, separated by commas; https, or also http with `ALERTS_WEBHOOK_HTTP`."""
ALERTS_WEBHOOK_SECRET = env_text("ALERTS_WEBHOOK_SECRET", "")
"""Secret with which webhooks are signed: 16 characters or more."""
EMAIL_BACKEND = env_class("EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend")
"""Mail backend of Django. `django.core.mail.backends.filebased.EmailBackend` writes files."""
EMAIL_HOST = env_text("EMAIL_HOST", "localhost")
"""Host name of the mail server."""
EMAIL_PORT = env_number("EMAIL_PORT", 25, low=1, high=65535)
"""Port of the mail server."""
EMAIL_HOST_USER = env_text("EMAIL_HOST_USER", "")
"""User name at the mail server."""
EMAIL_HOST_PASSWORD = env_text("EMAIL_HOST_PASSWORD", "")
"""Password at the mail server."""
EMAIL_SECURITY = env_choice("EMAIL_SECURITY", "none", ("none", "starttls", "tls"))
"""Encryption of the connection to the mail server."""
EMAIL_FILE_PATH = env_text("EMAIL_FILE_PATH", str(SIGNALBOX_HOME / "mail"))
"""Folder of the filebased backend."""
OLD_SNAPSHOT_SECONDS = env_number("OLD_SNAPSHOT_SECONDS", 60, low=1, high=86_400)
"""Seconds after which an old snapshot is shown on the overview and SignalboxOldSnapshot fires
(docs/runbooks/SignalboxOldSnapshot.md)."""
