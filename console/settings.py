"""Every setting of the project, taken from the environment; docs/configuration.md describes each.

A value that cannot be understood stops the process at once and names its variable.
"""

import json
import os
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.sign_on import configuring
from pipeline import schedules
from queues.database_url import (
    DatabaseUrlError,
    broker_url,
    database_settings,
    direct_database_settings,
    parse_database_url,
)

T = TypeVar("T")
BASE_DIR = Path(__file__).resolve().parent.parent


def env_text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


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
    """Seconds, five fields of a crontab, or, when it is empty, never."""
    text = env_text(name, "")
    try:
        return schedules.parsed(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {error}, not {text!r}") from error


def env_parsed(name: str, parse: Callable[[list[str]], T]) -> T:
    """A list with commas between that `parse` takes apart."""
    try:
        return parse(env_list(name, ""))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {error}") from error


def env_issuer(name: str) -> str:
    text = env_text(name, "")
    try:
        return configuring.issuer(text) if text else ""
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {error}, not {text!r}") from error


def env_url_template(name: str, place: str) -> str:
    text = env_text(name, "")
    known = text.replace(f"{{{place}}}", "")
    web = text.startswith(("https://", "http://"))
    if text and (not web or known == text or set(known) & set("{}<>\"' ")):
        raise ImproperlyConfigured(f"{name} must be an http or https URL with {{{place}}} in it, not {text!r}")
    return text


def env_address(name: str, default: str, schemes: tuple[str, ...]) -> str:
    text = env_text(name, default).rstrip("/")
    if not _is_address(text, schemes):
        raise ImproperlyConfigured(f"{name} must be an address with {' or '.join(schemes)}, not {text!r}")
    return text


def env_addresses(name: str, schemes: tuple[str, ...]) -> list[str]:
    """Addresses, which may hold a secret: a mistake names their place, not them."""
    addresses = env_list(name, "")
    for place, text in enumerate(addresses, 1):
        if not _is_address(text, schemes):
            raise ImproperlyConfigured(f"{name}: number {place} is no address with {' or '.join(schemes)}")
    return addresses


def _is_address(text: str, schemes: tuple[str, ...]) -> bool:
    if not text.isascii() or not text.isprintable() or " " in text:
        return False  # it could not be asked for, and the error would quote it
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False


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
            os.link(draft, path)  # of several first processes exactly one names its key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    if not (key := path.read_text().strip()):
        raise ImproperlyConfigured(f"{path} is empty: delete it, or set SECRET_KEY")
    return key


# Where things live
SIGNALBOX_HOME = Path(env_text("SIGNALBOX_HOME", str(BASE_DIR / ".signalbox"))).expanduser().absolute()
DATABASE_URL = env_text("DATABASE_URL", "")
DATABASE_POOLER = env_choice("DATABASE_POOLER", "none", ("none", "transaction"))
DATABASE_DIRECT_URL = env_text("DATABASE_DIRECT_URL", "")
ARCHIVE_READ_URL = env_text("ARCHIVE_READ_URL", "")
ENVIRONMENT = env_text("ENVIRONMENT", "")
PORT = env_number("PORT", 8000, low=1, high=65535)

# Security
DEBUG = env_flag("DEBUG", default=False)
HTTPS_ONLY = env_flag("HTTPS_ONLY", default=True)
SECRET_KEY = secret_key()
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS", "")

SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS_ONLY else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS_ONLY
SECURE_HSTS_PRELOAD = HTTPS_ONLY
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
# The __Host- prefix makes browsers refuse such a cookie from any other host or without TLS.
SESSION_COOKIE_NAME = "__Host-signalbox-session" if HTTPS_ONLY else "signalbox-session"
CSRF_COOKIE_NAME = "__Host-signalbox-csrf" if HTTPS_ONLY else "signalbox-csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Strict"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Guessing: so many wrong passwords for one name from one address, and nobody looks at another one for so long. The
# address is the one that uvicorn says (FORWARDED_ALLOW_IPS): it alone knows which proxies to believe.
LOGIN_ATTEMPTS = env_number("LOGIN_ATTEMPTS", 10, low=1, high=1_000)
LOGIN_LOCK_MINUTES = env_number("LOGIN_LOCK_MINUTES", 15, low=1, high=1_440)
AXES_FAILURE_LIMIT, AXES_COOLOFF_TIME = LOGIN_ATTEMPTS, timedelta(minutes=LOGIN_LOCK_MINUTES)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "console.attempts.client_address"
AXES_RESET_ON_SUCCESS = AXES_DISABLE_ACCESS_LOG = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = AXES_ENABLE_ADMIN = AXES_VERBOSE = False
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Purges, configuration and who may do what take a password that was given within so many minutes; 0: none.
CONFIRM_PASSWORD_MINUTES = env_number("CONFIRM_PASSWORD_MINUTES", 30, low=0, high=1_440)
# Whether people may, or must, give a code beside their password.
SECOND_FACTOR = env_choice("SECOND_FACTOR", "off", ("off", "optional", "required"))
# How allauth reckons codes of apps; the one before and the one after do too, since people type slowly.
MFA_ADAPTER = "console.second_factor.sealing.SealingAdapter"
MFA_TOTP_ISSUER, MFA_TOTP_TOLERANCE, MFA_SUPPORTED_TYPES = "Signalbox", 1, ["totp", "recovery_codes"]
# Keys of before, with which secrets of second factors are still opened, and sessions still checked.
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS", "")
# Sign-on by OpenID Connect: off without an issuer. Whoever has no value of the claim that stands for a role is refused.
OIDC_ISSUER = env_issuer("OIDC_ISSUER")
OIDC_NAME = env_text("OIDC_NAME", urlsplit(OIDC_ISSUER).hostname or "")[:40]
OIDC_CLIENT_ID = env_text("OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env_text("OIDC_CLIENT_SECRET", "")
OIDC_SCOPES = env_list("OIDC_SCOPES", "openid,profile")
OIDC_CLAIM = env_text("OIDC_CLAIM", "groups")
OIDC_ROLES = env_parsed("OIDC_ROLES", configuring.roles)
OIDC_TENANTS = env_parsed("OIDC_TENANTS", configuring.tenants)
OIDC_SESSION_HOURS = env_number("OIDC_SESSION_HOURS", 8, low=1, high=720)
for needed in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
    if OIDC_ISSUER and not globals()[needed]:
        raise ImproperlyConfigured(f"{needed} must be set: OIDC_ISSUER is, and the provider knows us by it")
if OIDC_ISSUER and not (OIDC_ROLES or OIDC_TENANTS):
    raise ImproperlyConfigured("OIDC_ROLES or OIDC_TENANTS must be set: without them OIDC_ISSUER lets nobody in")
if OIDC_ISSUER and "openid" not in OIDC_SCOPES:
    raise ImproperlyConfigured("OIDC_SCOPES must have openid in it")
SOCIALACCOUNT_ADAPTER = "console.sign_on.adapter.SignOnAdapter"
ACCOUNT_RATE_LIMITS = {"sign_on": "30/m/key"}  # by address: each makes a session, which costs a stranger nothing
SESSION_ENGINE = "console.session_store"  # hashed keys
SESSION_HOURS = env_number("SESSION_HOURS", 24, low=1, high=720)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = LOGIN_URL

# The application
INSTALLED_APPS = [
    "console",
    "pipeline",
    "metrics",
    "dlq",
    "queues",
    "django_htmx",
    "axes",
    "allauth",
    "allauth.account",  # the others ask for it; it has no page here
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "console.static_files.StaticFilesMiddleware",
    "console.no_store.NoStoreMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",  # deny by default
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.second_step.RequiredFactorMiddleware",
    "console.maintenance.MaintenanceMiddleware",
    "console.confirming.RecentPasswordMiddleware",
    "console.renamed.RenamedMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# The database
try:
    DATABASES = {
        "default": database_settings(DATABASE_URL, SIGNALBOX_HOME, pooled=DATABASE_POOLER == "transaction"),
    }
    # Past the pooler, for what needs a session; None: there is no such way, or no pooler.
    DIRECT_DATABASE = direct_database_settings(DATABASE_DIRECT_URL, DATABASE_POOLER)
    if ARCHIVE_READ_URL:
        parse_database_url(ARCHIVE_READ_URL, "ARCHIVE_READ_URL")
except DatabaseUrlError as error:
    raise ImproperlyConfigured(str(error)) from error
# Whether `migrate` goes on where PostgreSQL may lose what it has committed.
ALLOW_UNSAFE_DATABASE = env_flag("ALLOW_UNSAFE_DATABASE", default=False)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Time and language
TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"
USE_I18N = False

# Static files are served from the apps' own folders: a clone runs without a build step.
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Payloads too large for the database: a storage of Django's, shared by all processes and with no other installation.
BODIES_STORAGE = env_class("BODIES_STORAGE", "queues.bodies.WholeFiles")
BODIES_MAX_BYTES = env_number("BODIES_MAX_BYTES", 100_000_000, low=262_144, high=5_000_000_000)
BODIES_GRACE_SECONDS = env_number("BODIES_GRACE_SECONDS", 3600, low=0, high=31_536_000)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # nobody uploads files here
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "bodies": {
        "BACKEND": BODIES_STORAGE,
        "OPTIONS": env_object(
            "BODIES_OPTIONS",
            {"location": str(SIGNALBOX_HOME / "bodies")} if BODIES_STORAGE == "queues.bodies.WholeFiles" else {},
        ),
    },
}

# Lists as files: how much one export may write.
EXPORT_MAX_ROWS = env_number("EXPORT_MAX_ROWS", 100_000, low=1, high=10_000_000)
EXPORT_MAX_BYTES = env_number("EXPORT_MAX_BYTES", 200_000_000, low=1_000, high=100_000_000_000)

# The audit: for how long its rows stay in the database, and where they go then. 0 keeps them for ever.
AUDIT_RETENTION_DAYS = env_number("AUDIT_RETENTION_DAYS", 0, low=0, high=36_500)
AUDIT_EXPORT_FOLDER = env_text("AUDIT_EXPORT_FOLDER", str(SIGNALBOX_HOME / "audit"))

# The data pipeline: where the archive is, which Spark does the work, how many of its tasks read the database at once.
ARCHIVE_URL = env_text("ARCHIVE_URL", str(SIGNALBOX_HOME / "archive"))
SPARK_MASTER = env_text("SPARK_MASTER", "local[*]")
SPARK_OPTIONS = env_object("SPARK_OPTIONS", {"spark.driver.memory": "1g"})
SPARK_CLASSES = Path(env_text("SPARK_CLASSES", str(SIGNALBOX_HOME / "spark"))).expanduser().absolute()
SPARK_SERVER_IDLE_SECONDS = env_number("SPARK_SERVER_IDLE_SECONDS", 600, low=0, high=86_400)
REPLAY_MAX_MESSAGES = env_number("REPLAY_MAX_MESSAGES", 1_000_000, low=1, high=100_000_000)
REPLAY_MAX_BYTES = env_number("REPLAY_MAX_BYTES", 2_000_000_000, low=1, high=10_000_000_000_000)
REPLAY_KEEP_HOURS = env_number("REPLAY_KEEP_HOURS", 24, low=1, high=720)
PIPELINE_PRIORITY = env_choice("PIPELINE_PRIORITY", "idle", ("idle", "normal"))
PIPELINE_CONNECTIONS = env_number("PIPELINE_CONNECTIONS", 2, low=1, high=16)

# Logs go to standard error; the process manager keeps them.
LOG_LEVEL = env_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOG_FORMAT = env_choice("LOG_FORMAT", "text", ("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "signalbox.logs.formatter_of", "name": LOG_FORMAT}},
    "filters": {
        "without_query": {"()": "console.access_logs.WithoutQuery"},
        "outages_in_brief": {"()": "console.outages.InBrief"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": LOG_LEVEL, "propagate": False},
        "django.request": {"filters": ["outages_in_brief"]},
        "axes": {"level": "WARNING"},  # it would tell of every login
        "psycopg.pool": {"level": "WARNING"},  # it would tell of every connection that is borrowed
        "uvicorn": {"handlers": ["stderr"], "propagate": False},
        "uvicorn.access": {"handlers": ["stderr"], "filters": ["without_query"], "propagate": False},
    },
}

# Where a trace is looked at: {trace_id} stands for its id. Empty: trace ids are shown, and lead nowhere.
TRACE_URL_TEMPLATE = env_url_template("TRACE_URL_TEMPLATE", "trace_id")

# Celery: a task is a kick, the job's row holds the truth. The broker is our own database, and the kick joins the row's
# transaction; any other broker that Celery knows does as well.
CELERY_BROKER_URL = env_text("CELERY_BROKER_URL", broker_url(DATABASE_URL, SIGNALBOX_HOME))
BROKER_IS_DATABASE = broker_url(DATABASE_URL, SIGNALBOX_HOME) == CELERY_BROKER_URL


def broker_options() -> dict[str, object]:
    """What the broker needs. Kombu's folders would be two, below wherever a process was started."""
    if BROKER_IS_DATABASE:
        return {"tenant": "system"}
    if not CELERY_BROKER_URL.startswith("filesystem:"):
        return {}
    broker = private_directory(SIGNALBOX_HOME / "broker")
    folder = str(private_directory(broker / "messages"))
    control = str(private_directory(broker / "control"))
    return {"data_folder_in": folder, "data_folder_out": folder, "control_folder": control, "polling_interval": 0.2}


CELERY_BROKER_TRANSPORT_OPTIONS = env_object("CELERY_BROKER_OPTIONS", broker_options())
if BROKER_IS_DATABASE:
    CELERY_BROKER_TRANSPORT_OPTIONS = CELERY_BROKER_TRANSPORT_OPTIONS | broker_options()  # the tenant system stays
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_DEFAULT_QUEUE = "signalbox"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE_FILENAME = str(SIGNALBOX_HOME / "beat-schedule")
CELERY_TIMEZONE = TIME_ZONE
PIPELINE_SCHEDULES = {
    "archive": env_schedule("ARCHIVE_SCHEDULE"),
    "rollup": env_schedule("ROLLUP_SCHEDULE"),
    "analyse": env_schedule("ANALYSE_SCHEDULE"),
}
CELERY_BEAT_SCHEDULE = schedules.beat(PIPELINE_SCHEDULES)

# What is removed stays in the trash so long; above a number of messages a name is typed, or a second person decides.
TRASH_HOURS = env_number("TRASH_HOURS", 24, low=0, high=8_760)
CONFIRM_ABOVE_MESSAGES = env_number("CONFIRM_ABOVE_MESSAGES", 0, low=0, high=1_000_000_000)
APPROVAL_REDRIVE_MESSAGES = env_number("APPROVAL_REDRIVE_MESSAGES", 0, low=0, high=1_000_000_000)
APPROVAL_DELETE_MESSAGES = env_number("APPROVAL_DELETE_MESSAGES", 0, low=0, high=1_000_000_000)
APPROVAL_UNDO_MESSAGES = env_number("APPROVAL_UNDO_MESSAGES", 0, low=0, high=1_000_000_000)
APPROVAL_HOURS = env_number("APPROVAL_HOURS", 24, low=1, high=720)
SECOND_PERSON_DAYS = env_number("SECOND_PERSON_DAYS", 7, low=0, high=365)

# The HTTP API.
API_MAX_BODY_BYTES = env_number("API_MAX_BODY_BYTES", 10_000_000, low=1_000, high=1_000_000_000)
API_DATABASE_CONNECTIONS = env_number("API_DATABASE_CONNECTIONS", 10, low=1, high=1_000)

METRICS_TOKEN = env_text("METRICS_TOKEN", "")
METRICS_MAX_SERIES = env_number("METRICS_MAX_SERIES", 200_000, low=1, high=100_000_000)
ALERTMANAGER_TOKEN = env_text("ALERTMANAGER_TOKEN", "")
ALERTS_KEEP_DAYS = env_number("ALERTS_KEEP_DAYS", 30, low=1, high=3_650)

# What the console itself finds out (manage.py alerts evaluate), and whom it tells.
CONSOLE_URL = env_address("CONSOLE_URL", f"http://127.0.0.1:{PORT}", ("https", "http"))
ALERTS_EVERY_SECONDS = env_number("ALERTS_EVERY_SECONDS", 15, low=1, high=3_600)
ALERTS_MAIL_TO = env_list("ALERTS_MAIL_TO", "")
ALERTS_MAIL_FROM = env_text("ALERTS_MAIL_FROM", "signalbox@localhost")
ALERTS_WEBHOOK_HTTP = env_flag("ALERTS_WEBHOOK_HTTP", default=False)
ALERTS_WEBHOOK_PRIVATE = env_flag("ALERTS_WEBHOOK_PRIVATE", default=False)
ALERTS_WEBHOOKS = env_addresses("ALERTS_WEBHOOKS", ("https", "http") if ALERTS_WEBHOOK_HTTP else ("https",))
ALERTS_WEBHOOK_SECRET = env_text("ALERTS_WEBHOOK_SECRET", "")
if ALERTS_WEBHOOKS and len(ALERTS_WEBHOOK_SECRET) < 16:
    raise ImproperlyConfigured("ALERTS_WEBHOOK_SECRET must have 16 characters or more: webhooks are signed with it")
EMAIL_BACKEND = env_class("EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend")
EMAIL_HOST = env_text("EMAIL_HOST", "localhost")
EMAIL_PORT = env_number("EMAIL_PORT", 25, low=1, high=65535)
EMAIL_HOST_USER = env_text("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env_text("EMAIL_HOST_PASSWORD", "")
EMAIL_SECURITY = env_choice("EMAIL_SECURITY", "none", ("none", "starttls", "tls"))
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL_SECURITY == "starttls", EMAIL_SECURITY == "tls"
EMAIL_FILE_PATH = env_text("EMAIL_FILE_PATH", str(SIGNALBOX_HOME / "mail"))
EMAIL_TIMEOUT = 20  # seconds for a server to answer
OLD_SNAPSHOT_SECONDS = env_number("OLD_SNAPSHOT_SECONDS", 60, low=1, high=86_400)
SECURE_REDIRECT_EXEMPT = [
    r"^metrics(/queues)?$",
    r"^healthz$",
    r"^alerts/webhook$",
]  # monitoring comes from inside, past the proxy with TLS
