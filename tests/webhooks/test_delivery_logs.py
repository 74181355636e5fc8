"""What a worker writes to its log about deliveries if `LOG_FORMAT` is text (docs/operate.md, *Logs*)."""

import logging
from typing import Any

import pytest
from django.conf import settings
from django.utils.module_loading import import_string

from foundation.outbox import run_group
from organizations.actors import SYSTEM
from tests.receiver import Receiver
from webhooks.models import Endpoint, Event
from webhooks.queue import DELIVERIES
from webhooks.services import send_test

pytestmark = pytest.mark.django_db(transaction=True)


def written(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines about deliveries as the text formatter of the settings writes them."""
    options: dict[str, Any] = dict(settings.LOGGING["formatters"]["text"])  # type: ignore[index]
    formatter: logging.Formatter = import_string(options.pop("()"))(**options)
    records = [record for record in caplog.records if record.name == "pipeline_backend.deliveries"]
    for record in records:
        record.request_id = "-"
    return [formatter.format(record) for record in records]


def test_only_an_attempt_that_failed_is_a_line(
    endpoint: Endpoint, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status_codes = [204, 500]

    for _ in range(2):
        send_test(endpoint=endpoint, actor=SYSTEM)
        run_group(DELIVERIES, endpoint.pk)

    failed = Event.objects.of(endpoint.organization).order_by("-id").first()
    (line,) = written(caplog)
    before, _, milliseconds = line.rpartition("=")
    assert before == (
        'WARNING pipeline_backend.deliveries [-] delivery queue="webhook deliveries" '
        f'organization="{endpoint.organization_id}" request_id="{failed.request_id}" endpoint="{endpoint.pk}" '
        f'event="webhook.test" event_id="{failed.pk}" attempt=1 status=500 error="http_500" duration_ms'
    )
    assert float(milliseconds) > 0
    assert len(receiver.requests) == 2


def test_a_line_break_in_a_value_starts_no_new_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        logging.getLogger("pipeline_backend.deliveries").warning("delivery", extra={"fields": {"error": "a\nb"}})

    assert written(caplog) == ['WARNING pipeline_backend.deliveries [-] delivery error="a\\nb"']
