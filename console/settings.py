"""Settings of Django and of the libraries, made of the environment variables, which are settings themselves."""

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from console.environment import *  # noqa: F403 - each variable is a setting
from pipeline.jobs import schedules
from queues.database.url import (
    DatabaseUrlError,
    database_settings,
    direct_database_settings,
    parse_database_url,
)

# Security
SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS_ONLY else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS_ONLY
SECURE_HSTS_PRELOAD = HTTPS_ONLY
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
# The __Host- prefix makes browsers refuse such a cookie from any other host or without TLS.
SESSION_COOKIE_NAME = "__Host-signalbox-session" if HTTPS_ONLY else "signalbox-session"
CSRF_COOKIE_NAME = "__Host-signalbox-csrf" if HTTPS_ONLY else "signalbox-csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "console.web.errors.views.expired_form"
CSRF_COOKIE_SAMESITE = "Strict"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        **{f"{kind}-src": ["'self'"] for kind in ("script", "style", "img", "font", "connect")},
        "form-action": ["'self'"],
        **{name: ["'none'"] for name in ("default-src", "base-uri", "frame-ancestors")},
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
# The address of a login is the one that uvicorn says (FORWARDED_ALLOW_IPS): it alone knows which proxies to believe.
AXES_FAILURE_LIMIT, AXES_COOLOFF_TIME = LOGIN_ATTEMPTS, timedelta(minutes=LOGIN_LOCK_MINUTES)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "console.access.lockout.client_address"
AXES_RESET_ON_SUCCESS = AXES_DISABLE_ACCESS_LOG = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = AXES_ENABLE_ADMIN = AXES_VERBOSE = False
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Rules of approvals that a variable sets; the console can change the others (docs/operate/approvals.md).
APPROVAL_RULES_LOCKED = variables_given("APPROVAL_")
# Codes of apps: allauth also accepts the code before and the code after the current one, since people type slowly.
MFA_ADAPTER = "console.access.second_factor.SealingAdapter"
MFA_TOTP_ISSUER, MFA_TOTP_TOLERANCE, MFA_SUPPORTED_TYPES = "Signalbox", 1, ["totp", "recovery_codes"]
# Sign-on by OpenID Connect: off without an issuer. A person without a claim value that stands for a role is refused.
for needed in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
    if OIDC_ISSUER and not globals()[needed]:
        raise ImproperlyConfigured(f"{needed} must be set: OIDC_ISSUER is, and the provider knows us by it")
if OIDC_ISSUER and not (OIDC_ROLES or OIDC_TENANTS):
    raise ImproperlyConfigured("OIDC_ROLES or OIDC_TENANTS must be set: without them OIDC_ISSUER lets no one in")
if OIDC_ISSUER and "openid" not in OIDC_SCOPES:
    raise ImproperlyConfigured("OIDC_SCOPES must have openid in it")
SOCIALACCOUNT_ADAPTER = "console.access.sign_on.views.SignOnAdapter"
ACCOUNT_RATE_LIMITS = {"sign_on": "30/m/key"}  # by address: each makes a session, which costs a stranger nothing
SESSION_ENGINE = "console.access.sessions"  # hashed keys
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
    "console.web.caching.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "console.web.caching.StaticFilesMiddleware",
    "console.web.caching.NoStoreMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.access.login.LoginMiddleware",  # deny by default
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.access.second_factor.RequiredFactorMiddleware",
    "console.administration.maintenance.MaintenanceMiddleware",
    "console.access.reauthentication.RecentPasswordMiddleware",
    "console.queues.renaming_views.RenamedMiddleware",
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

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # no one uploads files here
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "bodies": {"BACKEND": BODIES_STORAGE, "OPTIONS": BODIES_OPTIONS},
}

# Logs go to standard error; the process manager keeps them.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "signalbox.logs.formatter_of", "name": LOG_FORMAT}},
    "filters": {
        "without_query": {"()": "console.web.server.WithoutQuery"},
        "outages_in_brief": {"()": "console.web.errors.outages.InBrief"},
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

# Celery: a task only wakes a worker, the job's row holds the truth. The broker is our own database, and the message
# joins the row's transaction; any other broker that Celery knows does as well.
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_DEFAULT_QUEUE = "signalbox"  # jobs that people start: `celery -A console worker` consumes it
PIPELINE_QUEUE = "signalbox-pipeline"  # runs that take minutes: `celery -A console worker -Q signalbox-pipeline`
CELERY_TASK_ROUTES = {"pipeline.*": {"queue": PIPELINE_QUEUE}}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE_FILENAME = str(SIGNALBOX_HOME / "beat-schedule")
CELERY_TIMEZONE = TIME_ZONE
PIPELINE_SCHEDULES = {"archive": ARCHIVE_SCHEDULE, "rollup": ROLLUP_SCHEDULE, "analyse": ANALYSE_SCHEDULE}
CELERY_BEAT_SCHEDULE = schedules.beat(PIPELINE_SCHEDULES)

# Mail and monitoring
if ALERTS_WEBHOOKS and len(ALERTS_WEBHOOK_SECRET) < 16:
    raise ImproperlyConfigured("ALERTS_WEBHOOK_SECRET must have 16 characters or more: webhooks are signed with it")
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL_SECURITY == "starttls", EMAIL_SECURITY == "tls"
EMAIL_TIMEOUT = 20  # seconds for a server to answer
# Monitoring comes from inside, past the proxy with TLS.
SECURE_REDIRECT_EXEMPT = [r"^metrics(/queues)?$", r"^healthz$", r"^alerts/webhook$"]
