"""Every setting, read from the environment; a wrong value stops the start by name.

The README's table lists the variables. Nothing here has a secret as its default.
"""

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy
from redis.backoff import NoBackoff
from redis.retry import Retry

ROOT = Path(__file__).resolve().parent.parent
env = environ.Env()


def flag(name: str, *, default: bool) -> bool:
    """A yes or no; anything else stops the start (environ alone reads "banana" as no)."""
    value = env.str(name, default=str(default)).strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false")


def number(name: str, *, default: int, least: int = 1) -> int:
    """A whole number of at least `least`."""
    value = env.str(name, default=str(default)).strip()
    if not value.isdecimal() or int(value) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number, at least {least}")
    return int(value)


def web_address(name: str, *, default: str) -> str:
    """An http(s) address without its last slash."""
    value = env.str(name, default=default).rstrip("/")
    if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).netloc:
        raise ImproperlyConfigured(f"{name} must be an http or https address")
    return value


def networks(name: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Networks in CIDR form, comma-separated."""
    try:
        return [ipaddress.ip_network(text.strip()) for text in env.list(name, default=[])]
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be networks such as 10.1.0.0/16, comma-separated") from None


def version() -> str:
    """The newest version in the changelog."""
    match = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    return match[1] if match else "0.0.0"


def encryption_keys() -> list[str]:
    """Fernet keys, the one that encrypts first; needed everywhere, so that no secret is ever stored plain."""
    keys = env.list("FIELD_ENCRYPTION_KEYS", default=[])
    if not keys:
        raise ImproperlyConfigured(
            "FIELD_ENCRYPTION_KEYS must hold at least one Fernet key (comma-separated, newest first)"
        )
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise ImproperlyConfigured(
                "FIELD_ENCRYPTION_KEYS must hold Fernet keys (32 bytes, url-safe base64)"
            ) from None
    return keys


# --- who we are -------------------------------------------------------------------------------------------------------
SECRET_KEY = env.str("SECRET_KEY")
DEBUG = False
LOCAL_RUN = flag("LOCAL_RUN", default=False)
BASE_URL = web_address("BASE_URL", default="http://127.0.0.1:8000")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1"])
FIELD_ENCRYPTION_KEYS = encryption_keys()

# --- apps -------------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "pipeline_backend.apps.PipelineBackendConfig",
    "organizations",
    "statuses",
    "webhooks",
    "notifications",
    "leads",
    "optins",
    "appointments",
    "unfold.apps.BasicAppConfig",  # its default one would replace our admin site
    "unfold.contrib.filters",
    "pipeline_backend.apps.AdminSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
MIDDLEWARE = [
    "pipeline_backend.api.request_id.RequestIdMiddleware",
    "pipeline_backend.web.security_headers.SecurityHeadersMiddleware",
    "organizations.isolation.middleware.TenantScopeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "pipeline_backend.web.middleware.StaticFilesMiddleware",
    "pipeline_backend.web.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "pipeline_backend.web.middleware.AuthMiddleware",
    "organizations.middleware.StaffScopeMiddleware",
    "pipeline_backend.web.timezones.AdminTimezoneMiddleware",
    "pipeline_backend.web.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "pipeline_backend.urls"
WSGI_APPLICATION = "pipeline_backend.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "pipeline_backend" / package / "templates" for package in ("admin", "local", "web")],
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

# --- the admin's looks ------------------------------------------------------------------------------------------------
UNFOLD = {
    "SITE_TITLE": "Pipeline Backend",
    "SITE_HEADER": "Pipeline Backend",
    "SITE_SUBHEADER": "pipeline_backend.admin.site.subheader",
    "SITE_SYMBOL": "filter_alt",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("pipeline_backend/icon.svg")}
    ],
    "STYLES": [lambda request: static("pipeline_backend/admin.css")],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "pipeline_backend.admin.dashboard.dashboard",
    "SIDEBAR": {"navigation": "pipeline_backend.admin.site.menu"},
}
FORMAT_MODULE_PATH = ["pipeline_backend.admin.formats"]

# --- database ---------------------------------------------------------------------------------------------------------
DATABASES = {"default": env.db_url("DATABASE_URL", engine="django.db.backends.postgresql")}
DATABASES["default"] |= {
    "CONN_MAX_AGE": number("DATABASE_CONNECTION_SECONDS", default=300, least=0),
    "CONN_HEALTH_CHECKS": True,
    "OPTIONS": {
        **DATABASES["default"].get("OPTIONS", {}),
        "connect_timeout": 3,
        # Planning a list costs more than running it: statements are prepared once a connection has seen them five times.
        "server_side_binding": True,
        "prepare_threshold": 5,
        # A statement or a lock that waits longer than a client would is given up, and answered with 503.
        # Indexes are in memory or on an SSD: at PostgreSQL's 4, for discs that turn, it reads small tables whole for each row of a page.
        "options": "-c statement_timeout=30000 -c lock_timeout=10000 -c idle_in_transaction_session_timeout=60000 -c random_page_cost=1.1",
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: the broker, and the counters of the rate limits -------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL")
REDIS_SOCKET_SECONDS = 0.5
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "pb",
        # No retries: whoever asks has something better to do than to wait.
        "OPTIONS": {
            "socket_timeout": REDIS_SOCKET_SECONDS,
            "socket_connect_timeout": REDIS_SOCKET_SECONDS,
            "retry": Retry(NoBackoff(), 0),
        },
    },
    "ratelimits": {"BACKEND": "pipeline_backend.api.rate_limits.SlidingWindowCache"},
    "memory": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "fallback",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
# django-ratelimit does not list Django's own RedisCache; `api/ratelimits.py` says what makes it sound here.
RATELIMIT_USE_CACHE = "ratelimits"
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.E003", "django_ratelimit.W001"]

# --- people -----------------------------------------------------------------------------------------------------------
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
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
HTTPS = BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = number("HSTS_SECONDS", default=31_536_000, least=0) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # asked from inside, where there is no TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if flag("BEHIND_PROXY", default=False) else None
CSRF_TRUSTED_ORIGINS = [BASE_URL]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DEFAULT_EXCEPTION_REPORTER_FILTER = "pipeline_backend.web.error_handlers.ScrubbedReporterFilter"

# --- the interface ----------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["organizations.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["organizations.authentication.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["pipeline_backend.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["pipeline_backend.api.responses.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "pipeline_backend.api.responses.JsonOnlyNegotiation",
    "DEFAULT_SCHEMA_CLASS": "pipeline_backend.api.openapi.InterfaceSchema",
    "EXCEPTION_HANDLER": "pipeline_backend.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Pipeline Backend",
    "DESCRIPTION": (ROOT / "pipeline_backend" / "api" / "introduction.md").read_text(),
    "VERSION": version(),
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,  # what a PATCH must bring, it must bring
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayRequestDuration": True},
    "POSTPROCESSING_HOOKS": ["pipeline_backend.api.openapi.add_headers"],
}
RATE_LIMIT_PER_MINUTE = number("RATE_LIMIT_PER_MINUTE", default=600)
FAILED_KEYS_PER_MINUTE = number("FAILED_KEYS_PER_MINUTE", default=60)
BODY_LIMIT = 1024 * 1024
BODY_SECONDS = number("BODY_SECONDS", default=20)
WEB_THREADS = number("WEB_THREADS", default=4)  # of each web process

# --- deliveries -------------------------------------------------------------------------------------------------------
WEBHOOKS_ALLOW_PRIVATE = flag("WEBHOOKS_ALLOW_PRIVATE", default=False)
WEBHOOKS_ALLOWED_NETWORKS = networks("WEBHOOKS_ALLOWED_NETWORKS")
WEBHOOKS_PROXY = env.str("WEBHOOKS_PROXY", default="") and web_address("WEBHOOKS_PROXY", default="")
KEEP_DELIVERIES_DAYS = number("KEEP_DELIVERIES_DAYS", default=90)
DELIVERY_DEADLINE_SECONDS = number("DELIVERY_DEADLINE_SECONDS", default=15)
DELIVERY_LEASE_SECONDS = number("DELIVERY_LEASE_SECONDS", default=60)
if DELIVERY_LEASE_SECONDS < 2 * DELIVERY_DEADLINE_SECONDS:
    raise ImproperlyConfigured("DELIVERY_LEASE_SECONDS must be at least twice DELIVERY_DEADLINE_SECONDS")
HEALTH_BACKLOG_SECONDS = number("HEALTH_BACKLOG_SECONDS", default=300)

# --- mail -------------------------------------------------------------------------------------------------------------
vars().update(env.email_url("EMAIL_URL", default="smtp://127.0.0.1:25"))
EMAIL_TIMEOUT = 10  # for each answer of the mail server
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Pipeline Backend <pipeline@localhost>")

# --- words, times, files ----------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATICFILES_DIRS = [ROOT / "pipeline_backend" / package / "static" for package in ("admin", "local")]
STATIC_ROOT = env.str("STATIC_ROOT", default="") or None
# Without collected files (local run, tests) they are looked up when asked for, not all at the start.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_ROOT is None
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "pipeline_backend.api.request_id.RequestIdFilter"}},
    "formatters": {"line": {"format": "{levelname} {name} [{request_id}] {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},  # what a client did wrong is told to the client
        "celery": {"level": "WARNING"},
        "celery.apps.worker": {"level": "INFO"},
    },
}
