"""Clients generated from the OpenAPI document run every operation."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from pipeline_client.generated import AuthenticatedClient

from pipeline_backend.wsgi import application
from tests.client import ApiClient
from tests.openapi.documents import document_text

BOOKING = {
    "external_reference": "booking-1",
    "schedule_time": "2027-01-05T10:00:00Z",
    "lead_email": "ada@example.com",
    "event_type_name": "Strategy call",
}
OPT_IN = {
    "email": "ada@example.com",
    "first_name": "Ada",
    "source": "LANDING_PAGE",
    "questions_answers": [{"question": "Why?", "answer": None}],
    "traffic": {"utm_source": "letter"},
}
JAVA_CLIENT_RUN = Path(__file__).with_name("generated_client_run.py")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(document_text())
    return path


class PythonClient:
    """The generated part of clients/python, with one API key."""

    name = "pipeline_client.generated"

    def __init__(self, key: str) -> None:
        self.client = AuthenticatedClient(
            base_url="http://testserver",
            token=key,
            prefix="",
            auth_header_name="x-api-key",
            httpx_args={"transport": httpx.WSGITransport(app=application)},
        )

    def call(self, operation: str, expected: int, body: Any = None, **arguments: Any) -> Any:
        """Call the operation, such as leads.list_leads; assert the status code and return the parsed response."""
        tag, name = operation.split(".")
        function = import_module(f"{self.name}.api.{tag}.{name}").sync_detailed
        if body is not None:
            arguments["body"] = self.model(function.__annotations__["body"].__name__, body)
        response = function(client=self.client, **arguments)
        assert response.status_code == expected, response.content
        assert response.parsed is not None
        return response.parsed

    def model(self, name: str, body: Any) -> Any:
        return getattr(import_module(f"{self.name}.models"), name).from_dict(body)


@pytest.mark.django_db(transaction=True)
def test_the_checked_in_python_client_runs_every_operation(api: ApiClient) -> None:
    """`tests/clients/test_package.py` shows that openapi-python-client writes it."""
    run_every_operation(PythonClient(str(api.key)))


def run_every_operation(client: PythonClient) -> None:
    booked = client.call("appointments.create_appointment", 201, BOOKING).data
    repeated = client.call("appointments.create_appointment", 200, BOOKING).data
    client.call("appointments.create_appointment", 409, BOOKING | {"schedule_time": "2027-01-06T10:00:00Z"})
    client.call("appointments.create_appointment", 400, BOOKING | {"lead_email": "nobody"})
    submitted = client.call("opt_ins.submit_opt_in", 200, OPT_IN).data
    statuses = client.call("sales_statuses.list_statuses", 200).data
    won = next(status for status in statuses if status.role == "WON")

    assert (repeated.id, repeated.is_duplicate) == (booked.id, True)
    assert (
        client.call("leads.update_lead_status", 200, {"status_id": str(won.id)}, id=submitted.lead_id).data.status
        == won
    )
    client.call("appointments.cancel_appointment", 200, {"external_reference": "booking-1"})
    assert client.call("appointments.get_appointment", 200, id=booked.id).data.outcome.role == "CANCELED"
    assert (
        client.call("opt_ins.get_opt_in", 200, id=submitted.opt_in_id).data.traffic_attribution.utm_source == "letter"
    )
    assert client.call("leads.get_lead", 200, id=submitted.lead_id).data.status == won
    for operation, count in [
        ("appointments.list_appointments", 1),
        ("opt_ins.list_opt_ins", 1),
        ("leads.list_leads", 1),
    ]:
        assert client.call(operation, 200).pagination.total == count
    assert client.call("look_ups.get_organization_and_key", 200).data.organization.name == "Acme"
    for operation, count in [
        ("look_ups.list_members", 1),
        ("look_ups.list_event_types", 1),
        ("look_ups.list_sources", 2),
        ("look_ups.list_custom_fields", 0),
    ]:
        assert client.call(operation, 200).pagination.total == count
    types = [event.type_ for event in client.call("events.list_events", 200).data]
    assert types[:2] == ["lead.created", "appointment.created"]
    assert types[-1] == "appointment.canceled"


@pytest.mark.django_db(transaction=True)
def test_openapi_generator_generates_a_client_that_runs_every_operation(
    api: ApiClient, document: Path, tmp_path: Path, live_server: Any
) -> None:
    java = shutil.which("java")
    if java is None:
        pytest.skip("NOT TESTED: java is missing")
    folder = tmp_path / "client"
    jar = Path(import_module("openapi_generator_cli").__file__ or "").with_name("openapi-generator.jar")

    generation = subprocess.run(
        [java, "-jar", jar, "generate", "-g", "python", "-i", document, "-o", folder], capture_output=True, check=False
    )
    run = subprocess.run(
        [sys.executable, JAVA_CLIENT_RUN, live_server.url, str(api.key)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )

    assert generation.returncode == 0, generation.stderr[-2000:]
    assert (run.returncode, run.stdout.strip()) == (0, "17 operations"), run.stderr[-2000:]
