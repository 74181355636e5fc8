"""A no-code tool such as Zapier, from the first look at the key to the end of the subscription."""

import json

from foundation.outbox import run_group
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api
from tests.receiver import Receiver
from webhooks.queue import DELIVERIES

ENDPOINTS, TOPICS = "/api/external/webhook-endpoints", "/api/external/webhook-topics"


def test_a_tool_subscribes_shows_samples_skips_repeats_by_id_and_unsubscribes(
    api: ApiClient, organization: Organization, receiver: Receiver
) -> None:
    """docs/interface.md, W30 to W39"""
    zapier = make_api(organization, scopes=["read", "webhooks"])
    assert zapier.get_data("/api/external/me")["organization"]["name"] == "Acme"
    subscription = {"url": receiver.url, "topics": ["lead.created"], "metadata": {"zap": "7"}}
    endpoint = zapier.post(ENDPOINTS, subscription).json()["data"]
    [example] = zapier.get_data(f"{TOPICS}/lead.created/samples")

    api.submit()
    run_group(DELIVERIES, endpoint["id"])
    [delivery] = zapier.get_data(f"{ENDPOINTS}/{endpoint['id']}/deliveries")
    zapier.post(f"{ENDPOINTS}/{endpoint['id']}/replay", {"delivery_id": delivery["id"]})
    run_group(DELIVERIES, endpoint["id"])

    first, repeat = receiver.requests
    event = first.verify(endpoint["secret"])
    # A tool sees no headers, so it knows the repeat by the body's id.
    assert first.body == repeat.body
    assert (event["id"], event["data"]["email"]) == (first.headers["webhook-id"], "ada@example.com")
    assert event.keys() == example.keys()
    samples = zapier.get(f"{TOPICS}/lead.created/samples").content
    assert first.body in samples
    assert zapier.get_data(f"{TOPICS}/lead.created/samples") == [json.loads(first.body)]

    assert zapier.request("DELETE", f"{ENDPOINTS}/{endpoint['id']}").status_code == 204
    api.submit(email="eve@example.com")
    run_group(DELIVERIES, endpoint["id"])
    assert len(receiver.requests) == 2
