"""Applications, middleware, URLs and templates."""

from pipeline_backend.settings.instance import ROOT

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
    "pipeline_backend.web.metrics.request_metrics",
    "foundation.api.request_id.RequestIdMiddleware",
    "pipeline_backend.web.logs.request_log",
    "pipeline_backend.web.middleware.security_headers",
    "organizations.isolation.row_level_security.TenantScopeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "pipeline_backend.web.middleware.StaticFilesMiddleware",
    "pipeline_backend.web.middleware.CompressionMiddleware",  # after static files, which are compressed already
    "pipeline_backend.web.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "pipeline_backend.web.middleware.AuthMiddleware",
    "accounts.middleware.StaffMiddleware",
    "pipeline_backend.web.middleware.admin_time_zone",
    "pipeline_backend.web.middleware.MessageMiddleware",
    "pipeline_backend.web.page_requests.PageRateLimitMiddleware",
    "pipeline_backend.web.page_requests.PageErrorMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "pipeline_backend.urls"
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
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_I18N = False
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["staff.formats"]
