"""Traces to OpenTelemetry, whose own variables (OTEL_…) configure the exporter, sampling and the resource."""

import os
import re
from collections.abc import Sequence

from django.conf import settings
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

ATTRIBUTES = {
    "http.method",
    "http.request.method",
    "http.route",
    "http.status_code",
    "http.response.status_code",
    "db.system",
    "db.system.name",
    "db.statement",
    "db.query.text",
    "celery.action",
    "celery.state",
    "celery.task_name",
}
STATEMENTS = {"db.statement", "db.query.text"}
# Values are parameters, so a literal is a constant of the code. Left out all the same, in case one ever isn't.
LITERAL = re.compile(r"'(?:[^']|'')*'")
# The outer ones give every response its request id and security headers, also if tracing fails.
FIRST_TRACED = "organizations.isolation.row_level_security.TenantScopeMiddleware"


def start() -> None:
    """Must run before the web server's middleware is loaded."""
    service = {
        "service.name": os.environ.get("OTEL_SERVICE_NAME", "pipeline-backend"),
        "service.version": settings.VERSION,
    }
    provider = TracerProvider(resource=Resource.create(service))
    provider.add_span_processor(BatchSpanProcessor(AllowListExporter()))
    trace.set_tracer_provider(provider)
    # Without baggage, which clients could fill with anything.
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    DjangoInstrumentor().instrument(middleware_position=settings.MIDDLEWARE.index(FIRST_TRACED))
    for instrumentor in (PsycopgInstrumentor(), CeleryInstrumentor(), RedisInstrumentor()):
        instrumentor.instrument()


class AllowListExporter(OTLPSpanExporter):
    """Passes on what may leave: names, times, and the attributes in ATTRIBUTES.

    Statements and commands outside of a request or task are left out: those of the dispatcher and of Celery's polling.
    """

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        allowed = [reduce_span(span) for span in spans if span.parent or span.kind is not SpanKind.CLIENT]
        return super().export(allowed) if allowed else SpanExportResult.SUCCESS


def reduce_span(span: ReadableSpan) -> ReadableSpan:
    """Return the span without events (exceptions with their messages), trace state and other attributes."""
    attributes = {key: value for key, value in (span.attributes or {}).items() if key in ATTRIBUTES}
    for key in STATEMENTS & attributes.keys():
        attributes[key] = LITERAL.sub("?", str(attributes[key]))
    context = span.context
    return ReadableSpan(
        name=span.name,
        context=context and SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
