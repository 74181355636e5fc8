"""All settings. They are read from environment variables; an invalid value stops the start and names its variable.

README.md lists the variables. No secret has a default.
"""

import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy
from redis.backoff import NoBackoff
from redis.retry import Retry

from pipeline_backend.env import (
    env,
    read_address,
    read_bool,
    read_choice,
    read_encryption_keys,
    read_folder,
    read_hosts,
    read_int,
    read_list,
    read_mailbox,
    read_networks,
    read_optional_url,
    read_redis_url,
    read_secret,
    read_text,
    read_token,
    read_url,
)

ROOT = Path(__file__).resolve().parent.parent


def latest_version() -> str:
    """Return the newest version in the changelog."""
    # The changelog is the only place that has the version at run time: the image contains the source, not a package.
    match = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    return match[1] if match else "0.0.0"


VERSION = latest_version()

# --- Instance ---------------------------------------------------------------------------------------------------------
SECRET_KEY = read_secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = read_list("SECRET_KEY_FALLBACKS")  # what they have signed stays valid
DEBUG = False  # not configurable: debug pages would show settings and data to clients
LOCAL_RUN = read_bool("LOCAL_RUN", default=False)
BASE_URL = read_url(
    "BASE_URL",
    "https://pipeline.example.com",
    pattern=r"https?:[^/@\s]+(/\S*)?",
    default="http://127.0.0.1:8000",
    has_query=False,
)
ALLOWED_HOSTS = read_hosts("ALLOWED_HOSTS", "localhost,127.0.0.1")
FIELD_ENCRYPTION_KEYS = read_encryption_keys()

# --- Applications and middleware --------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "organizations",
    "statuses",
    "webhooks",
    "notifications",
    "accounts",
    "leads",
    "optins",
    "appointments",
    "staff.apps.StaffConfig",  # before Unfold, whose templates and static files it overrides
    "unfold.apps.BasicAppConfig",  # Unfold's default config would replace our admin site
    "unfold.contrib.filters",
    "staff.apps.AdminSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.humanize",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",  # must precede staticfiles, whose `runserver` it overrides
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "dev",
    "pipeline_backend.apps.PipelineBackendConfig",  # the last
]
# The first four also cover errors of the rest. Four are subclasses that API requests skip (`web/middleware.py`).
MIDDLEWARE = [
    "pipeline_backend.web.metrics.MetricsMiddleware",
    "foundation.api.request_id.RequestIdMiddleware",
    "pipeline_backend.web.json_logs.RequestLogMiddleware",
    "pipeline_backend.web.middleware.SecurityHeadersMiddleware",
    "organizations.middleware.TenantScopeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "pipeline_backend.web.middleware.StaticFilesMiddleware",
    "pipeline_backend.web.middleware.CompressionMiddleware",  # after static files, which are compressed already
    "pipeline_backend.web.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "pipeline_backend.web.middleware.AuthMiddleware",
    "accounts.middleware.StaffMiddleware",
    "pipeline_backend.web.middleware.AdminTimezoneMiddleware",
    "pipeline_backend.web.middleware.MessageMiddleware",
    "pipeline_backend.web.page_requests.PageRequestMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "dev.urls" if LOCAL_RUN else "pipeline_backend.urls"
WSGI_APPLICATION = "pipeline_backend.wsgi.application"
APPEND_SLASH = False  # a redirect would turn an API client's POST into a GET
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "pipeline_backend" / "web" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Admin ------------------------------------------------------------------------------------------------------------
UNFOLD = {
    "SITE_TITLE": "Pipeline Backend",
    "SITE_HEADER": "Pipeline Backend",
    "SITE_SUBHEADER": "staff.menu.subheader",
    "SITE_SYMBOL": "filter_alt",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("pipeline_backend/icon.svg")}
    ],
    "STYLES": [
        lambda request: static("pipeline_backend/admin.css"),
        lambda request: static("pipeline_backend/search.css"),
    ],
    "SCRIPTS": [lambda request: static("pipeline_backend/admin.js")],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "staff.home.home",
    "SIDEBAR": {"navigation": "staff.menu.menu"},
}
FORMAT_MODULE_PATH = ["staff.formats"]

# --- Database ---------------------------------------------------------------------------------------------------------
STATEMENT_SECONDS = 30
ADMIN_STATEMENT_SECONDS = read_int("ADMIN_STATEMENT_SECONDS", default=5, max_value=3600)  # see organizations.isolation
DATABASE_URL = read_url(
    "DATABASE_URL", "postgres://user:password@host:5432/name", schemes=env.POSTGRES_FAMILY, pattern=".*/.+"
)
# `transaction`: DATABASE_URL leads to PgBouncer in transaction mode. Each transaction then has another session, so a
# request's role and settings are set in each transaction, and nothing else is kept in a session.
DATABASE_POOLER = read_choice("DATABASE_POOLER", "session", "transaction")
DATABASE_PREPARED_STATEMENTS = read_bool("DATABASE_PREPARED_STATEMENTS", default=DATABASE_POOLER == "session")
# Statements and locks time out sooner than clients do; the client gets 503 and can retry.
# random_page_cost: indexes are in memory or on an SSD. With PostgreSQL's default of 4, meant for hard disks, it scans
# whole small tables for each row of a page.
SESSION_SETTINGS = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "1min",
    "random_page_cost": "1.1",
}
DATABASES = {"default": env.db_url_config(DATABASE_URL, engine="django.db.backends.postgresql")}
DATABASES["default"] |= {
    "CONN_MAX_AGE": read_int("DATABASE_CONNECTION_SECONDS", default=300, min_value=0),
    "CONN_HEALTH_CHECKS": True,
    "DISABLE_SERVER_SIDE_CURSORS": DATABASE_POOLER == "transaction",
    "OPTIONS": {
        **DATABASES["default"].get("OPTIONS", {}),
        "connect_timeout": 3,
        # Planning a list query takes longer than running it, so a connection prepares a statement after five uses.
        "server_side_binding": True,
        "prepare_threshold": 5 if DATABASE_PREPARED_STATEMENTS else None,
        # PgBouncer refuses clients that send this, and sets the same itself (docs/pgbouncer.ini).
        "options": " ".join(f"-c {name}={value}" for name, value in SESSION_SETTINGS.items())
        if DATABASE_POOLER == "session"
        else "",
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: Celery's broker, and the rate limits' counters ------------------------------------------------------------
REDIS_URL = read_redis_url("REDIS_URL")
REDIS_SOCKET_SECONDS = 0.5
CACHES = {
    "default": {
        "BACKEND": "foundation.api.redis_cache.KeptRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "pb",
        # No retries: callers have a fallback, which is better than waiting.
        "OPTIONS": {
            "socket_timeout": REDIS_SOCKET_SECONDS,
            "socket_connect_timeout": REDIS_SOCKET_SECONDS,
            "retry": Retry(NoBackoff(), 0),
        },
    },
    "memory": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "fallback",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
RATELIMIT_FAIL_OPEN = True
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.W001"]  # it knows django-redis, and not yet Django's own cache in Redis

# --- Users, sessions, transport security ------------------------------------------------------------------------------
AUTH_USER_MODEL = "organizations.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_HASHERS = ["accounts.passwords.BoundedPBKDF2PasswordHasher"]
PASSWORD_HASHES_AT_ONCE = read_int("PASSWORD_HASHES_AT_ONCE", default=1)  # per process
ADMIN_REQUESTS_PER_MINUTE = read_int("ADMIN_REQUESTS_PER_MINUTE", default=300)  # per signed-in person
PASSWORD_RESET_TIMEOUT = 3600  # seconds for which a link for a new password is valid
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
MAX_DAYS = 36_500  # a time so long ago is still a date
KEEP_ADMIN_LOG_DAYS = read_int("KEEP_ADMIN_LOG_DAYS", default=1095, max_value=MAX_DAYS)
KEEP_SECURITY_EVENTS_DAYS = read_int("KEEP_SECURITY_EVENTS_DAYS", default=365, max_value=MAX_DAYS)
HTTPS = BASE_URL.startswith("https://")
SESSION_ENGINE = "accounts.sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "pipeline_backend.web.stale_forms.csrf_failure"
HSTS_SECONDS = read_int("HSTS_SECONDS", default=31_536_000, min_value=0)
SECURE_HSTS_SECONDS = HSTS_SECONDS if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # probes connect directly, without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if read_bool("BEHIND_PROXY", default=False) else None
CSRF_TRUSTED_ORIGINS = [BASE_URL]
DEFAULT_EXCEPTION_REPORTER_FILTER = "pipeline_backend.web.error_handlers.ScrubbedReporterFilter"

# --- API --------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["organizations.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["organizations.authentication.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["foundation.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["foundation.api.responses.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "foundation.api.responses.JsonOnlyNegotiation",
    "DEFAULT_SCHEMA_CLASS": "foundation.api.openapi.ApiSchema",
    "EXCEPTION_HANDLER": "foundation.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Pipeline Backend",
    "DESCRIPTION": (ROOT / "foundation" / "api" / "introduction.md").read_text(),
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SORT_OPERATION_PARAMETERS": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,  # a PATCH has required fields, too
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayRequestDuration": True},
    "POSTPROCESSING_HOOKS": [
        "foundation.api.openapi.complete_responses",
        "webhooks.openapi.add_webhooks",
    ],
}
RATE_LIMIT_PER_MINUTE = read_int("RATE_LIMIT_PER_MINUTE", default=600)
FAILED_KEYS_PER_MINUTE = read_int("FAILED_KEYS_PER_MINUTE", default=60)
BODY_LIMIT = DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
IMPORT_LIMIT = 10 * BODY_LIMIT  # of an uploaded file of leads or appointments
BODIES_LIMIT = 64 * BODY_LIMIT  # of all requests of a web process together, until they are answered
BODIES_LIMIT_PER_CLIENT = BODIES_LIMIT // 4
BODY_SECONDS = read_int("BODY_SECONDS", default=20)
WEB_THREADS = read_int("WEB_THREADS", default=4, max_value=256)  # per web process

# --- Limits for each organization -------------------------------------------------------------------------------------
MAX_WEBHOOK_ENDPOINTS = read_int("MAX_WEBHOOK_ENDPOINTS", default=20)
MAX_API_KEYS = read_int("MAX_API_KEYS", default=50)  # that are neither revoked nor expired
MAX_CUSTOM_FIELDS = read_int("MAX_CUSTOM_FIELDS", default=100)
MAX_EVENT_TYPES = read_int("MAX_EVENT_TYPES", default=1000)

# --- Webhook deliveries and other background work ---------------------------------------------------------------------
WEBHOOKS_ALLOW_PRIVATE = read_bool("WEBHOOKS_ALLOW_PRIVATE", default=False)
WEBHOOKS_ALLOWED_NETWORKS = read_networks("WEBHOOKS_ALLOWED_NETWORKS")
# Twice the API's default rate limit: a booking can cause two events, and one endpoint must be able to receive both.
WEBHOOKS_PER_HOST_PER_MINUTE = read_int("WEBHOOKS_PER_HOST_PER_MINUTE", default=1200)
WEBHOOKS_PROXY = read_text("WEBHOOKS_PROXY", "") and read_url("WEBHOOKS_PROXY", "http://user:password@proxy:3128")
KEEP_DELIVERIES_DAYS = read_int("KEEP_DELIVERIES_DAYS", default=90, max_value=MAX_DAYS)
KEEP_NOTIFICATIONS_DAYS = read_int("KEEP_NOTIFICATIONS_DAYS", default=90, max_value=MAX_DAYS)
WEBHOOK_REQUESTS_PER_ENDPOINT = read_int("WEBHOOK_REQUESTS_PER_ENDPOINT", default=8)
# What the workers send, in the order in which they look for it.
OUTBOX_QUEUES = [
    "webhooks.queue.DELIVERIES",
    "notifications.queues.EMAILS",
    "notifications.queues.SLACK_MESSAGES",
    "accounts.mail.SECURITY_NOTICES",
    "accounts.mail.INVITATIONS",
    "accounts.mail.PASSWORD_RESETS",
]
DELIVERY_DEADLINE_SECONDS = read_int("DELIVERY_DEADLINE_SECONDS", default=15)
DELIVERY_LEASE_SECONDS = read_int("DELIVERY_LEASE_SECONDS", default=60)
if DELIVERY_LEASE_SECONDS < 2 * DELIVERY_DEADLINE_SECONDS:
    # Otherwise a lease could expire while its delivery is still being sent, and a second worker would send it, too.
    raise ImproperlyConfigured("DELIVERY_LEASE_SECONDS must be at least twice DELIVERY_DEADLINE_SECONDS")
HEALTH_BACKLOG_SECONDS = read_int("HEALTH_BACKLOG_SECONDS", default=300)

# --- E-mail -----------------------------------------------------------------------------------------------------------
EMAIL_URL = read_url(
    "EMAIL_URL",
    "smtp+tls://user:password@host:587",
    schemes=env.EMAIL_SCHEMES,
    pattern="smtp.*:[^/]+/?|.+mail:.*",
)
vars().update(env.email_url_config(EMAIL_URL))
EMAIL_TIMEOUT = 10  # seconds for each response of the mail server
MAILS_PER_ORGANIZATION_PER_DAY = read_int("MAILS_PER_ORGANIZATION_PER_DAY", default=5000)
INVITATIONS_PER_ORGANIZATION_PER_DAY = read_int("INVITATIONS_PER_ORGANIZATION_PER_DAY", default=100)
DEFAULT_FROM_EMAIL = read_mailbox("DEFAULT_FROM_EMAIL", "Pipeline Backend <pipeline@localhost>")

# --- Time zone, static files, metrics, logging ------------------------------------------------------------------------
USE_I18N = False
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATIC_ROOT = read_folder("STATIC_ROOT")
# Without collected files (local run, tests) WhiteNoise finds a file on request instead of scanning all at the start.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_ROOT is None
if STATIC_ROOT:
    # The name of a collected file has a hash of its content, so browsers keep it for years.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
METRICS_TOKEN = read_token("METRICS_TOKEN")
METRICS_ADDRESS = read_address("METRICS_ADDRESS", default="127.0.0.1:9101")
SENTRY_DSN = read_optional_url(
    "SENTRY_DSN", "https://key@sentry.example.com/1", pattern=r"https?:\w+@[^/@\s]+(/\S*)?/\d+", module="sentry_sdk"
)
OTEL_EXPORTER_OTLP_ENDPOINT = read_optional_url(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "http://collector.example.com:4318",
    pattern=r"https?:[^/\s]+(/\S*)?",
    module="opentelemetry.instrumentation.django",
)
LOG_FORMAT = read_choice("LOG_FORMAT", "text", "json")
LINE_LEVEL = "INFO" if LOG_FORMAT == "json" else "WARNING"  # of the line of each request and successful delivery
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "foundation.api.request_id.RequestIdFilter"}},
    "formatters": {
        "text": {
            "()": "pipeline_backend.web.json_logs.TextFormatter",
            "fmt": "{levelname} {name} [{request_id}] {message}",
            "style": "{",
        },
        "json": {"()": "pipeline_backend.web.json_logs.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},  # 4xx responses tell the client; logging them would only be noise
        "pipeline_backend.requests": {"level": LINE_LEVEL},
        "pipeline_backend.deliveries": {"level": LINE_LEVEL},
        "celery": {"level": "WARNING"},
        "celery.apps.worker": {"level": "INFO"},
    },
}
