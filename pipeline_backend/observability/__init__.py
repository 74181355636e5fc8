"""Errors to Sentry and traces to OpenTelemetry, both off by default (docs/tracing.md).

Their packages are optional (requirements-observability.txt). What leaves is chosen by lists of what may, because these
libraries collect more with each version; no list has a value that a client or a lead has sent.
"""

from django.conf import settings


def start() -> None:
    if settings.SENTRY_DSN:
        from pipeline_backend.observability import errors  # noqa: PLC0415  # its packages may be missing

        errors.start()
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        from pipeline_backend.observability import traces  # noqa: PLC0415

        traces.start()
