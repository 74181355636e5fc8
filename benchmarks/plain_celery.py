"""Webhooks sent the ordinary way: one Celery task for each delivery, with `requests` and an ORM save of the result.

Started as `celery -A benchmarks.plain_celery worker`. It writes the same rows as the product: an attempt, and the
delivery's state. Nothing else of the product runs in this worker, so an idle one is a bare Celery worker.
"""

import os
import time

import django

django.setup()

import requests  # noqa: E402  # after the settings
from celery import Celery  # noqa: E402

from foundation.outbox import State  # noqa: E402
from webhooks.models import Attempt, Delivery  # noqa: E402
from webhooks.signing import signed_headers  # noqa: E402

DELIVER = "benchmarks.deliver"

app = Celery("plain", broker=os.environ["REDIS_URL"])
app.conf.update(task_ignore_result=True)


@app.task(name=DELIVER)
def deliver(delivery_id: str) -> None:
    """Send one delivery and store the result."""
    delivery = Delivery.unscoped.select_related("endpoint", "event").get(pk=delivery_id)
    body, started = delivery.event.body, time.monotonic()
    attempt = Attempt(organization_id=delivery.organization_id, delivery=delivery)
    headers = signed_headers(str(delivery.event_id), body, delivery.endpoint.signing_secrets())
    headers["Content-Type"] = "application/json"
    try:
        response = requests.post(delivery.endpoint.url, body.encode(), headers=headers, timeout=15)
        attempt.status_code, attempt.response = response.status_code, response.text[:4096]
        attempt.error = "" if response.ok else f"http_{response.status_code}"
    except requests.RequestException:
        attempt.error = "connection_error"
    attempt.duration_ms = round(1000 * (time.monotonic() - started))
    attempt.save()
    delivery.attempt_count += 1
    delivery.state = State.PENDING if attempt.error else State.DONE
    delivery.save()
