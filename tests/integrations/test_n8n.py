"""The workflow for n8n. n8n itself is not run: these are its rules for a file that it imports."""

import json
import re
from pathlib import Path

WORKFLOW = json.loads(Path("integrations/n8n.json").read_text())
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}
# Fields of the state (docs/interface.md, A68).
REQUIRED = {"changed_at", "state", "schedule_time", "lead", "event_type"}
OPTIONAL = {"duration_minutes", "host_email", "meeting_url", "previous_reference"}


def test_each_node_has_a_name_and_an_id_of_its_own_and_a_type_that_n8n_has() -> None:
    assert {name: (node["type"], node["typeVersion"]) for name, node in NODES.items()} == {
        "Booking": ("n8n-nodes-base.webhook", 2),
        "Store the booking": ("n8n-nodes-base.httpRequest", 4.2),
    }
    assert len({node["id"] for node in WORKFLOW["nodes"]}) == len(WORKFLOW["nodes"]) == 2
    assert WORKFLOW["active"] is False


def test_the_webhook_leads_to_the_request() -> None:
    assert WORKFLOW["connections"] == {
        "Booking": {"main": [[{"node": "Store the booking", "type": "main", "index": 0}]]}
    }


def test_the_request_is_repeated_and_has_its_key_from_a_credential() -> None:
    request = NODES["Store the booking"]

    assert (request["retryOnFail"], request["maxTries"], request["waitBetweenTries"]) == (True, 5, 5000)
    assert request["parameters"]["genericAuthType"] == "httpHeaderAuth"
    assert {name: node["credentials"] for name, node in NODES.items()} == {
        "Booking": {"httpHeaderAuth": {"id": None, "name": "Scheduler's header"}},
        "Store the booking": {"httpHeaderAuth": {"id": None, "name": "Pipeline x-api-key"}},
    }


def test_the_request_has_the_fields_of_a_state() -> None:
    parameters = NODES["Store the booking"]["parameters"]

    assert parameters["method"] == "PUT"
    assert re.fullmatch(
        r"=https://[\w.]+/api/external/sync/SCHEDULER_C/appointments/\{\{ encodeURIComponent\(.*\) \}\}",
        parameters["url"],
    )
    assert set(re.findall(r"^  (\w+):", parameters["jsonBody"], re.MULTILINE)) == REQUIRED | OPTIONAL
