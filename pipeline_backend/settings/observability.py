"""Metrics, errors, traces and logs."""

from pipeline_backend.env import read_address, read_choice, read_optional_url, read_token

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
    "filters": {
        "request_id": {"()": "foundation.api.request_id.RequestIdFilter"},
        "without_path": {"()": "pipeline_backend.web.logs.WithoutPath"},
    },
    "formatters": {
        "text": {
            "()": "pipeline_backend.web.logs.TextFormatter",
            "fmt": "{levelname} {name} [{request_id}] {message}",
            "style": "{",
        },
        "json": {"()": "pipeline_backend.web.logs.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        # 4xx responses tell the client; logging them would only be noise.
        "django.request": {"level": "ERROR", "filters": ["without_path"]},
        "django.security.csrf": {"filters": ["without_path"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # also a 4xx, and any stranger can cause it
        "pipeline_backend.requests": {"level": LINE_LEVEL},
        "pipeline_backend.deliveries": {"level": LINE_LEVEL},
        "celery": {"level": "WARNING"},
        "celery.apps.worker": {"level": "INFO"},
    },
}
DEFAULT_EXCEPTION_REPORTER_FILTER = "pipeline_backend.web.error_handlers.ScrubbedReporterFilter"
